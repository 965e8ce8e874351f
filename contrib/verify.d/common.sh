# Shared by all checks of contrib/verify: root, a fresh Debian, and what is said of an expectation.

# be_root PURPOSE: ends the check unless it has the rights of root.
be_root() { [ "$(id -u)" = 0 ] || die "become root, so that I can $1."; }

# expect WHAT COMMAND…: a line that says whether it succeeds, in which case nothing else is said; otherwise `failed` is 1.
expect() {
  if "${@:2}" >"$work/said" 2>&1; then
    say "  ok      $1"
  else
    say "  FAILED  $1: ${*:2}"
    tail -n 20 "$work/said" >&2
    failed=1
  fi
}

# says TEXT COMMAND…: the command prints that, whatever its exit status is.
says() {
  "${@:2}" >"$work/output" 2>&1 || true
  grep -qF -e "$1" "$work/output" || { cat "$work/output" && false; }
}

# Folders of the machine that `inside` shows.
root_folders=()

# The machine's own sources of Debian's packages.
debian_sources() { apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Origin: Debian' | sort -u; }

# The address of Debian's archive, which has the other releases too.
debian_archive() {
  local address
  address=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | sort -u | sed q)
  [ -n "$address" ] || die "apt-get knows no source of Debian's packages here; run apt-get update."
  printf '%s\n' "$address"
}

# apt_settings FILE: what apt has been told about the network is as true in there.
apt_settings() { apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$1" || true; }

# make_debian FOLDER PACKAGE…: a fresh Debian with these packages, by mmdebstrap.
make_debian() {
  need_packages mmdebstrap
  [ -n "$(debian_sources)" ] || apt-get update -qq
  [ -n "$(debian_sources)" ] || die "apt-get knows no source of Debian's packages here."
  local IFS=,
  apt_settings "$1.apt"
  debian_sources | mmdebstrap --quiet --variant=apt --skip=cleanup/apt --aptopt="$1.apt" --include="${*:2}" "" "$1" -
  rm "$1.apt"
}

# inside COMMAND…: on the Debian in the folder $root, where the folders of the array root_folders are the machine's own.
inside() {
  # shellcheck disable=SC2016 # For the inner shell.
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1 count=$2
    for folder in dev sys; do mount --rbind "/$folder" "$root/$folder"; done
    mount -t proc proc "$root/proc"
    for folder in "${@:3:count}"; do mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder"; done
    exec chroot "$root" env -i HOME=/tmp/home TERM=dumb LC_ALL=C.UTF-8 PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      "${@:3+count}"
  ' - "$root" "${#root_folders[@]}" "${root_folders[@]}" "$@"
}

# build_tests: builds them, and sets `tests`, `programs` and `runtime`: the program of the tests, its folder, and that of Swift's
# libraries.
build_tests() {
  need_swift
  need_packages $build_packages
  swift build --package-path "$top" --build-tests >&2
  programs=$(swift build --package-path "$top" --show-bin-path)
  tests=$(echo "$programs"/*.xctest)
  runtime=$(ldd "$tests" | sed -n 's|^.*libswiftCore.so => \(.*\)/[^/]* .*|\1|p')
}

# tested_in ROOT COMMAND…: what build_tests has built, on the Debian in that folder, in the folder of the project and in a network
# of its own.
tested_in() {
  mkdir -p "$1$top" "$1$runtime" "$1$programs"
  # shellcheck disable=SC2016 # For the inner shell.
  unshare --mount --pid --fork --kill-child --net bash -c '
    root=$1
    # A root that is no mount has no propagation, which the tests want to change.
    mount --bind "$root" "$root"
    for folder in /dev /sys "$2" "$3" "$4"; do mount --rbind "$folder" "$root$folder"; done
    mount -t proc proc "$root/proc"
    ip link set lo up
    # Not chroot alone: in one, the kernel refuses namespaces of users.
    cd "$root"
    mkdir -p before
    pivot_root . before
    umount -l /before
    # Not exec: the first process has to wait for those whose parents have gone.
    env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin bash -c "cd \"\$0\" && exec \"\$@\"" "$3" "${@:5}"
    exit $?
  ' - "$1" "$runtime" "$top" "$programs" "${@:2}"
}
