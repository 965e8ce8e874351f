# Runs README's commands that build, install and uninstall, as they stand there: from the source, Debian's package, the archive.
# As root, ten minutes if nothing is compiled yet; 60 MB from Debian.
#
# The commands that build run on this machine. Those with sudo run on a fresh Debian, which sees the folder of the
# project at the same place. There must be a netwatch after the installation, and nothing with this name in the end.
be_root "make a Debian to install netwatch on"
need_packages mmdebstrap
root=$work/root
root_folders=("$top")
cd "$top"

# does LINE: runs a line of README.
does() {
  case $1 in
  sudo*) inside sh -ec "cd '$top' && $1" ;;
  *) bash -ec "$1" ;;
  esac
}
# left: prints what the Debian has that is called netwatch.
left() { (cd "$root" && find etc opt run usr var/lib -name '*netwatch*'); }
is_gone() { [ -z "$(left)" ] || { left && false; }; }

# tries LINE: runs the block of README that has this line. Its first line builds, the second one installs, and the last one
# uninstalls.
tries() {
  local lines
  mapfile -t lines <<<"$1"
  [ "${#lines[@]}" = 3 ] || die "this block of README has no longer three lines: ${lines[0]}"
  expect "${lines[0]}" does "${lines[0]}"
  expect "${lines[1]}" does "${lines[1]}"
  expect "netwatch" says '"event":"initial"' inside netwatch status --json
  expect "man netwatch-log" test -n "$(find "$root/usr" -name 'netwatch-log.1*')"
  expect "${lines[2]}" does "${lines[2]}"
  expect "is gone" is_gone
}

say "From the source"
bash -ec "$(readme_block 'contrib/run')" >"$work/lines" 2>"$work/messages" &
running=$!
while [ ! -s "$work/lines" ] && kill -0 "$running" 2>/dev/null; do sleep 0.2; done
expect "contrib/run prints how this machine is connected" grep -E '^[0-9:]{8} ' "$work/lines"
kill "$running" || cat "$work/messages" >&2

make_debian "$root" ca-certificates
mkdir "$root/tmp/home"
# Who uses the Debian is root, and says yes.
printf '#!/bin/sh\nexec "$@"\n' >"$root/usr/bin/sudo"
chmod 755 "$root/usr/bin/sudo"
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/yes"

say "Debian's package"
tries "$(readme_block 'sudo apt-get install')"
say "The archive"
tries "$(readme_block 'contrib/package archive')"
