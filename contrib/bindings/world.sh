# Shared by the checks of the bindings and by their builds. Source this file after contrib/common.sh. A cable, enp1s0,
# leads to a router, 192.168.1.1, in a second network namespace.

# find_library [FOLDER]: sets `library` to the folder that contrib/bindings/c/build has printed, or builds it.
find_library() {
  if [ $# -gt 0 ]; then library=$1; else library=$("$top/contrib/bindings/c/build" | tail -n 1); fi
  library=$(cd "$library" && pwd) || die "there is no folder '$library'."
  [ -e "$library/lib/libnetwatch.so.1" ] || die "there is no lib/libnetwatch.so.1 in $library; contrib/bindings/c/build prints the right folder."
  export PKG_CONFIG_PATH=$library/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
}

# in_a_world NAME ARGUMENT...: runs a check again in namespaces of its own, with is_inside=yes. Everything that still
# runs at the end is ended with the namespaces.
in_a_world() {
  unshare --user --map-root-user --net --mount --pid --fork --mount-proc --kill-child bash "$top/contrib/verify" --inside "$@"
}

# try_packages MODULES PACKAGES DEBIAN CHECK FOLDER ARGUMENT...: installs packages on a fresh Debian, runs a check there again, and
# purges them, as the functions below do it. FOLDER is at the same path there.
try_packages() {
  install_packages "$1" "$2" "$3"
  root_folders=("$top" "$5")
  check_inside "${@:4}"
  purge_packages "$1" "$2"
}

# install_packages MODULES PACKAGES DEBIAN...: makes a fresh Debian with the packages DEBIAN in $root, and installs those of
# contrib/package on it. MODULES are the folders of which purge_packages counts the files.
install_packages() {
  local package
  say "A fresh Debian"
  be_root "make a Debian to install the package on"
  root=$work/root
  "$top/contrib/package" >"$work/paths"
  # shellcheck disable=SC2086 # Several packages, here and below.
  make_debian "$root" ${*:3}
  mkdir "$root/tmp/home"
  for package in $2; do cp "$(grep "/${package}_.*\.deb\$" "$work/paths")" "$root/root"; done
  files_of_modules "$1" >"$work/before"
  expect "installs it" inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y /root/*.deb'
}
# shellcheck disable=SC2086
files_of_modules() { (cd "$root" && { find $1 -type f -exec cksum {} + 2>/dev/null || true; } | sort); }

# check_inside CHECK ARGUMENT...: runs a check again on the Debian in $root, in namespaces of its own, with is_inside=yes.
check_inside() {
  inside unshare --net --mount --propagation unchanged --pid --fork --mount-proc --kill-child bash "$top/contrib/verify" --inside "$@" ||
    failed=1
}

# purge_packages MODULES PACKAGES: purges the packages. Of the files in the folders MODULES, none may be left.
purge_packages() {
  # shellcheck disable=SC2086
  expect "purges it" inside apt-get purge --auto-remove -y $2
  files_of_modules "$1" >"$work/after"
  expect "has nothing left of it" diff "$work/before" "$work/after"
}

# make_world FOLDER: makes the cable and the router, and writes three commands to the folder: pull, plug-in, and in-router, which
# runs a command in the router's namespace.
make_world() {
  unshare --net sleep 600 &
  local router=$! here
  here=$(readlink /proc/self/ns/net)
  until [ "$(readlink "/proc/$router/ns/net")" != "$here" ]; do sleep 0.05; done
  printf '#!/bin/sh\nexec nsenter --target %s --net "$@"\n' "$router" >"$1/in-router"
  for command in pull:down plug-in:up; do
    printf '#!/bin/sh\nexec in-router ip link set cable %s\n' "${command#*:}" >"$1/${command%:*}"
  done
  chmod 755 "$1"/{in-router,pull,plug-in}
  export PATH=$1:$PATH
  # No service has this socket.
  export NETWATCH_SOCKET=$1/no-service
  ip link set lo up
  # The kernel reports changes of an ordinary link at most once a second. If the two ends have different indices, it reports them
  # at once, so that a check measures what netwatch adds.
  ip link add enp1s0 index 100 type veth peer name cable netns "$router"
  in-router ip addr add 192.168.1.1/24 dev cable
  plug-in
  ip link set enp1s0 up
  until ip -o link show enp1s0 up | grep -q 'state UP'; do sleep 0.05; done
  ip addr add 192.168.1.23/24 dev enp1s0
  ip route add default via 192.168.1.1
}

# start COMMAND...: starts COMMAND in the background, with its output in the files lines and errors, and sets `running`
# to its process.
start() {
  # The files are emptied first, because the shell in the background would do that too late, and lines of the command
  # before would count.
  : >"$work/lines"
  : >"$work/errors"
  "$@" >>"$work/lines" 2>>"$work/errors" &
  running=$!
}

# within_time COMMAND...: waits until COMMAND succeeds, for at most 30 seconds.
within_time() {
  local end=$((SECONDS + 30))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

# has FILE COUNT PATTERN: waits until FILE has COUNT lines that match PATTERN.
has() { within_time has_now "$@" || { cat "$1" && false; }; }
has_now() { [ "$(grep -cE -e "$3" "$1" 2>/dev/null)" = "$2" ]; }

# ends PID STATUS: waits until the process has ended, and checks its exit status.
ends() {
  local status=0
  within_time is_gone "$1" || { echo "process $1 still runs" && return 1; }
  wait "$1" || status=$?
  [ "$status" = "$2" ] || { echo "its exit status is $status" && false; }
}
is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# fails STATUS PATTERN COMMAND...: checks the exit status of COMMAND, and that its standard error matches PATTERN.
fails() {
  local status=0
  timeout 30 "${@:3}" >"$work/output" 2>"$work/errors" || status=$?
  cat "$work/output" "$work/errors"
  [ "$status" = "$1" ] || { echo "its exit status is $status" && return 1; }
  grep -qE -e "$2" "$work/errors"
}
