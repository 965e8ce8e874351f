# Tries the GIO module: programs in C and Python see a cable pulled, a VPN without an uplink and a network that costs money.
# A minute; without ARGUMENT ten, as root, and 400 MB. ARGUMENT: short, not also on a fresh Debian with the package, GLib's tests, epiphany.
. "$top/contrib/bindings/world.sh"
harness=$top/contrib/bindings/gio/harness

# says_line COUNT PATTERN: waits until the program has printed this many lines that match.
says_line() { has "$work/lines" "$1" "$2"; }
# tells COMMAND PATTERN: gives watch.c a command, and checks its answer.
tells() {
  local already
  already=$(wc -l <"$work/lines")
  printf '%s\n' "$1" >&4
  within_time has_after "$already" "$2"
}
# has_after COUNT PATTERN: succeeds if a line after the first COUNT lines of watch.c matches.
has_after() { tail -n "+$(($1 + 1))" "$work/lines" | grep -qE -e "$2"; }
# since: prints the milliseconds from the last answer to `now` to the last signal of watch.c.
since() { awk '/^now / { began = $2 } /^signal / { last = $NF } END { printf "%d\n", (last - began) / 1000 }' "$work/lines"; }
# signals COUNT PATTERN COMMAND…: runs a command, waits until this many signals match, and notes how soon the last one came.
signals() {
  tells now "^now " || return 1
  "${@:3}"
  says_line "$1" "$2" || return 1
  since >>"$work/delays"
}
# median FILE: prints the middle one of the numbers in a file.
median() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

# least FIELD: prints the least number in a field of the costs. Whatever else runs on the machine only adds to a cost.
least() { awk -v field="$1" '{ print $field }' "$work/costs" | sort -n | sed q; }

# figure WHAT COMMAND…: checks a time, but in the short check, which also runs beside others, only prints it.
figure() { if [ "$is_short" = yes ]; then say "          $1"; else expect "$@"; fi; }

# try_here: everything that needs no display.
try_here() {
  local count
  mount -t tmpfs -o mode=755 tmpfs /etc/netwatch 2>/dev/null || { mkdir -p /etc/netwatch && mount -t tmpfs -o mode=755 tmpfs /etc/netwatch; }
  mkfifo "$work/commands"
  : >"$work/lines"
  "$work/watch" <"$work/commands" >>"$work/lines" 2>&1 &
  running=$!
  exec 4>"$work/commands"
  expect "GNetworkMonitor is netwatch's" says_line 1 '^NetwatchMonitor$'
  expect "C: says the state at once" says_line 1 '^first online full '
  for count in 1 2 3 4 5 6 7 8 9 10; do
    signals "$count" '^signal offline local ' pull || failed=1
    signals "$count" '^signal online full ' plug-in || failed=1
  done
  expect "C: each of ten losses and returns of the carrier is a signal" test "$failed" = 0
  # The time includes the start of the programs that pull the cable.
  figure "C: $(median "$work/delays") ms after the command, at most 20 (median of 20)" test "$(median "$work/delays")" -le 20
  expect "C: a host of the network can be reached" tells 'reach 192.168.1.7' '^reaches 192.168.1.7$'
  expect "C: the internet can be reached" tells 'reach 192.0.2.1' '^reaches 192.0.2.1$'
  expect "C: this machine can be reached" tells 'reach 127.0.0.1' '^reaches 127.0.0.1$'
  expect "C: an address without a route cannot" tells 'reach [2001:db8::1]' '^misses \[2001:db8::1\]: Host unreachable$'
  echo "metered interface enp1s0" >/etc/netwatch/rules
  expect "C: a rule makes the network metered" says_line 1 '^signal online metered full '
  rm /etc/netwatch/rules
  expect "C: and it is free again" says_line 11 '^signal online full '
  # The VPN has every route, and what carries it is gone.
  ip link add vpn0 type vxlan id 5 remote 192.168.1.1 dstport 4789
  ip addr add 10.8.0.2/24 dev vpn0
  ip link set vpn0 up
  ip route replace default dev vpn0 metric 0
  expect "C: a VPN is another path" says_line 12 '^signal online full '
  pull
  expect "C: a VPN without its uplink is not the network" says_line 11 '^signal offline local '
  ip link del vpn0
  plug-in
  ip route replace default via 192.168.1.1
  expect "C: the network is back without it" says_line 13 '^signal online full '
  expect "C: a thread reads the state" tells read '^thread online full '
  expect "C: a child of the process reads the state" tells fork '^child online full '
  pull
  expect "C: and has its own signal" says_line 1 '^child offline local '
  plug-in
  exec 4>&-
  expect "C: ends" ends "$running" 0

  expect "C: a program that does not ask loads nothing" says '0 libraries' "$work/asks" no
  # Pages of a file that was just written count as private memory until they are on the disk.
  sync
  for count in 1 2 3 4 5 6 7 8 9; do "$work/asks" yes; done >"$work/costs"
  figure "C: one that asks pays $(least 1) ms, of 8" awk -v cost="$(least 1)" 'BEGIN { exit !(cost <= 8) }'
  expect "C: and $(least 2) KiB, of 1024" test "$(least 2)" -le 1024
}

if [ "$is_inside" = yes ]; then
  work=$1
  [ $# = 1 ] && is_short=yes || is_short=no
  make_world "$work"
  try_here
  [ $# = 1 ] || . "$harness/try-installed.sh"
  exit "$failed"
fi

need_packages gcc libc6-dev pkg-config libglib2.0-dev iproute2 util-linux
find_library
module=$("$top/contrib/bindings/gio/build" "$library" | tail -n 1)
for program in watch asks; do
  # shellcheck disable=SC2046
  cc -std=c11 -Wall -Wextra -Werror "$harness/$program.c" -o "$work/$program" $(pkg-config --cflags --libs gio-2.0 gio-unix-2.0)
done
say "The module, $module"
mkdir "$work/modules"
cp "$module" "$work/modules"
export GIO_MODULE_DIR=$work/modules LD_LIBRARY_PATH=$library/lib
"$(pkg-config --variable=gio_querymodules gio-2.0 | grep . || echo "/usr/lib/$(gcc -dumpmachine)/glib-2.0/gio-querymodules")" "$work/modules"
in_a_world gio "$work" || failed=1
[ "${1:-}" != short ] || exit "$failed"

unset GIO_MODULE_DIR LD_LIBRARY_PATH
mkdir "$work/there"
cp "$work"/{watch,asks} "$work/there"
try_packages 'usr/lib/*/gio/modules' "libnetwatch1 gio-netwatch" \
  "iproute2 mount procps libglib2.0-bin libglib2.0-tests python3-gi epiphany-browser xvfb x11-utils dbus-daemon" gio "$work/there" installed
