# Shared by contrib/verify guest and the scripts here; to be sourced.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
guest_parts=$top/contrib/guest
guest_folder=$(realpath -m "${NETWATCH_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/guest}")
# Debian's packages, unpacked.
guest_root=$guest_folder/root
guest_libraries=$guest_root/usr/lib/x86_64-linux-gnu
# The kernel and its modules: that of this machine's Debian lies beside the tools.
guest_release=${NETWATCH_GUEST_KERNEL:-}
guest_kernel=$guest_root${guest_release:+-$guest_release}
# Says which kernel it is, and that all is there: it is written last. Another name makes every machine fetch everything anew,
# after a change to the list of packages.
guest_version=$guest_folder/version-2${guest_release:+-$guest_release}

# For where the packages cannot be had.
skip() {
  say "netwatch: skipped: $*"
  exit 77
}

# unpacked PROGRAM NAME ARGUMENTS…: runs a program of the packages, under a name.
unpacked() {
  (export LD_LIBRARY_PATH=$guest_libraries && exec -a "$2" "$guest_root/usr/bin/$1" "${@:3}")
}

# copy_modules FOLDER NAME…: the kernel's modules, and those that they stand on, to a root file system.
copy_modules() {
  local version name path
  version=$(<"$guest_version")
  for name in "${@:2}"; do
    unpacked kmod modprobe -d "$guest_kernel" -S "$version" --show-depends "$name" || say "There is no module $name."
  done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r path; do
    install -D -m 644 "$path" "$1${path#"$guest_kernel"}"
  done
  install -m 644 -t "$1/lib/modules/$version" "$guest_kernel/lib/modules/$version"/modules.{order,builtin,builtin.modinfo}
  unpacked kmod depmod -b "$1" "$version"
}

# pack_tree FOLDER ARCHIVE [FIND…]: the archive that the kernel unpacks into memory; FIND says what is left out.
pack_tree() {
  local owner=()
  [ "$(id -u)" = 0 ] || owner=(-R 0:0)
  (cd "$1" && find . "${@:3}" -print | unpacked cpio cpio -o -H newc "${owner[@]}" --quiet) >"$2"
}
