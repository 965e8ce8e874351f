# Shared by the checks of the bindings and by their builds; to be sourced after contrib/common.sh.
# A cable, enp1s0, leads to a router in a second network namespace.

# Sets `library`, the folder that contrib/bindings/c/build has printed: find_library [FOLDER]
find_library() {
  if [ $# -gt 0 ]; then library=$1; else library=$("$top/contrib/bindings/c/build" | tail -n 1); fi
  library=$(cd "$library" && pwd) || die "there is no folder '$library'."
  [ -e "$library/lib/libnetwatch.so.1" ] || die "there is no lib/libnetwatch.so.1 in $library; contrib/bindings/c/build prints the right folder."
  export PKG_CONFIG_PATH=$library/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
}

# Runs a check again, where is_inside is yes, in namespaces of its own: in_a_world NAME ARGUMENT... All that still runs at the end
# goes with them.
in_a_world() {
  unshare --user --map-root-user --net --mount --pid --fork --mount-proc --kill-child bash "$top/contrib/verify" --inside "$@"
}

# Puts two commands into the folder, pull and plug-in: make_world FOLDER
make_world() {
  unshare --net sleep 600 &
  local router=$! here
  here=$(readlink /proc/self/ns/net)
  until [ "$(readlink "/proc/$router/ns/net")" != "$here" ]; do sleep 0.05; done
  for command in pull:down plug-in:up; do
    printf '#!/bin/sh\nexec nsenter --target %s --net ip link set cable %s\n' "$router" "${command#*:}" >"$1/${command%:*}"
    chmod 755 "$1/${command%:*}"
  done
  export PATH=$1:$PATH
  # There is no service.
  export NETWATCH_SOCKET=$1/no-service
  ip link set lo up
  ip link add enp1s0 type veth peer name cable netns "$router"
  plug-in
  ip link set enp1s0 up
  until ip -o link show enp1s0 up | grep -q 'state UP'; do sleep 0.05; done
  ip addr add 192.168.1.23/24 dev enp1s0
  ip route add default via 192.168.1.1
}

# Starts COMMAND in the background, with its output in lines and errors; its number is then `running`.
start() {
  # The shell of the background would empty them later, and what the command before has said would count.
  : >"$work/lines"
  : >"$work/errors"
  "$@" >>"$work/lines" 2>>"$work/errors" &
  running=$!
}

# Waits until COMMAND succeeds, for 30 seconds at most.
within_time() {
  local end=$((SECONDS + 30))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

# Waits until FILE has COUNT lines that match PATTERN: has FILE COUNT PATTERN
has() { within_time has_now "$@" || { cat "$1" && false; }; }
has_now() { [ "$(grep -cE -e "$3" "$1" 2>/dev/null)" = "$2" ]; }

# Waits until the process with this number has ended, and checks its exit status: ends PID STATUS
ends() {
  local status=0
  within_time is_gone "$1" || { echo "process $1 still runs" && return 1; }
  wait "$1" || status=$?
  [ "$status" = "$2" ] || { echo "its exit status is $status" && false; }
}
is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# Checks the exit status and what is on standard error: fails STATUS PATTERN COMMAND...
fails() {
  local status=0
  timeout 30 "${@:3}" >"$work/output" 2>"$work/errors" || status=$?
  cat "$work/output" "$work/errors"
  [ "$status" = "$1" ] || { echo "its exit status is $status" && return 1; }
  grep -qE -e "$2" "$work/errors"
}
