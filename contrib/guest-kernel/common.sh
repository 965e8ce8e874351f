# Shared by contrib/guest and the scripts here; to be sourced.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
guest_parts=$top/contrib/guest-kernel
guest_folder=$(realpath -m "${NETWATCH_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/guest}")
# Debian's packages, unpacked.
guest_root=$guest_folder/root
guest_libraries=$guest_root/usr/lib/x86_64-linux-gnu
# Says which kernel it is, and that all is there: it is written last.
guest_version=$guest_folder/version

# For where the packages can not be had.
skip() {
  say "netwatch: skipped: $*"
  exit 77
}

# unpacked PROGRAM NAME ARGUMENTS…: runs a program of the packages, under a name.
unpacked() {
  (export LD_LIBRARY_PATH=$guest_libraries && exec -a "$2" "$guest_root/usr/bin/$1" "${@:3}")
}
