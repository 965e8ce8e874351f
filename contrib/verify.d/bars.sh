# Runs the recipes of contrib/bars in the real bars, without a screen.
# As root, five minutes. ARGUMENTS: names of bars.
#
# Checks what the bars show when a cable is pulled and plugged in again and while a request runs, and how soon; that
# names of networks open nothing; and that no process is left. Each bar has a network namespace of its own. sway refuses
# to run as root, so it becomes nobody. A bar that Debian does not have is skipped with a message.
#
# NETWATCH           the program to test. Default: it is built
# NETWATCH_PICTURES  the folder where pictures of the bars are kept. Default: none
here=$top/contrib/bars
all=()
for recipe in "$here"/*; do
  [ ! -f "$here/harness/${recipe##*/}.sh" ] || all+=("${recipe##*/}")
done

be_root "make network namespaces and start sway as nobody"
bars=("$@")
[ $# -gt 0 ] || bars=("${all[@]}")
for bar in "${bars[@]}"; do
  [[ " ${all[*]} " = *" $bar "* ]] || die "there is no bar '$bar' here; there are ${all[*]}."
done

packages_of() { sed -n 's/^# Packages: //p' "$here/harness/$1.sh"; }

need_packages gcc libc6-dev libx11-dev xvfb x11-xserver-utils imagemagick xdotool fonts-dejavu-core fontconfig socat \
  jq iproute2 util-linux procps dbus
gcc -O2 -Wall -Wextra "$here/harness/pixels.c" -o "$work/pixels" -lX11
if [ -z "${NETWATCH:-}" ]; then
  need_swift
  need_packages $build_packages
  swift build --package-path "$top" --product netwatch >&2
  NETWATCH=$(swift build --package-path "$top" --show-bin-path)/netwatch
fi
# The program has a path of its own. The user nobody may execute it but not read it, and its processes are found by this
# path.
mkdir "$work/bin"
install -m 755 "$NETWATCH" "$work/bin/netwatch"

faulty=()
for bar in "${bars[@]}"; do
  for package in $(packages_of "$bar"); do
    apt-cache show "$package" >/dev/null 2>&1 || dpkg-query -W "$package" >/dev/null 2>&1 || {
      printf '%-14s left out: Debian has no %s here\n' "$bar" "$package"
      continue 2
    }
  done
  # shellcheck disable=SC2046
  need_packages $(packages_of "$bar")
  folder=$work/$bar
  mkdir -m 700 "$folder"
  chown 65534:65534 "$folder"
  status=0
  # Everything that a bar leaves running ends with the namespace.
  env -i PATH="$work/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/games" WORK="$folder" TOOLS="$work" \
    unshare --net --pid --fork --mount-proc --kill-child "$here/harness/world" "$bar" || status=$?
  [ "$status" = 0 ] || faulty+=("$bar")
  if [ -n "${NETWATCH_PICTURES:-}" ]; then
    mkdir -p "$NETWATCH_PICTURES/$bar"
    cp "$folder"/*.png "$folder"/*.log "$NETWATCH_PICTURES/$bar/" 2>/dev/null || true
  fi
done
[ ${#faulty[@]} = 0 ] || die "failed: ${faulty[*]}"
