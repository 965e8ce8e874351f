# Shared by contrib/verify guest and the scripts in this folder. Source this file.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
guest_parts=$top/contrib/guest
guest_folder=$(realpath -m "${NETWATCH_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/guest}")
# The folder with Debian's unpacked packages.
guest_root=$guest_folder/root
guest_libraries=$guest_root/usr/lib/x86_64-linux-gnu
# The folder of the kernel and its modules. The kernel of this machine's Debian is in the folder of the tools.
guest_release=${NETWATCH_GUEST_KERNEL:-}
guest_kernel=$guest_root${guest_release:+-$guest_release}
# The file that names the kernel. It is written last, so it also shows that everything is there. If its name changes,
# every machine fetches everything again, as is needed after a change of the list of packages.
guest_version=$guest_folder/version-2${guest_release:+-$guest_release}

# skip REASON: ends with 77, because packages are not available.
skip() {
  say "netwatch: skipped: $*"
  exit 77
}

# unpacked PROGRAM NAME ARGUMENT…: runs a program of the unpacked packages under a name.
unpacked() {
  (export LD_LIBRARY_PATH=$guest_libraries && exec -a "$2" "$guest_root/usr/bin/$1" "${@:3}")
}

# copy_modules FOLDER NAME…: copies modules of the kernel, and those that they depend on, to a root file system.
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

# pack_tree FOLDER ARCHIVE [FIND…]: writes the archive that the kernel unpacks into memory. FIND are expressions of find
# that leave files out.
pack_tree() {
  local owner=()
  [ "$(id -u)" = 0 ] || owner=(-R 0:0)
  (cd "$1" && find . "${@:3}" -print | unpacked cpio cpio -o -H newc "${owner[@]}" --quiet) >"$2"
}
