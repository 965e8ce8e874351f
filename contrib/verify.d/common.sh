# Shared by all checks of contrib/verify: rights of root, a fresh Debian, and the results of expectations.

# be_root PURPOSE: ends the check unless it runs as root.
be_root() { [ "$(id -u)" = 0 ] || die "become root, so that I can $1."; }

# expect WHAT COMMAND…: runs a command, and prints whether it has succeeded. If it fails, its output is printed and
# `failed` becomes 1.
expect() {
  if "${@:2}" >"$work/said" 2>&1; then
    say "  ok      $1"
  else
    say "  FAILED  $1: ${*:2}"
    tail -n 20 "$work/said" >&2
    failed=1
  fi
}

# says TEXT COMMAND…: succeeds if the command prints TEXT, whatever its exit status is.
says() {
  "${@:2}" >"$work/output" 2>&1 || true
  grep -qF -e "$1" "$work/output" || { cat "$work/output" && false; }
}

# readme_block LINE: prints the block of README that has a line which begins with LINE.
readme_block() {
  LINE=$1 awk '
    /^```/ {
      if (isBlock && isWanted) { printf "%s", text; isFound = 1; exit }
      isBlock = !isBlock; isWanted = 0; text = ""
      next
    }
    isBlock { text = text $0 "\n"; if (index($0, ENVIRON["LINE"]) == 1) isWanted = 1 }
    END { exit !isFound }' "$top/README.md" || die "README has no block with the line '$1'."
}

# The folders of this machine that `inside` shows at the same paths.
root_folders=()

# debian_sources: prints the sources from which this machine gets Debian's packages.
debian_sources() { apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Origin: Debian' | sort -u; }

# debian_archive: prints the address of Debian's archive, which also has the other releases.
debian_archive() {
  local address
  address=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | sort -u | sed q)
  [ -n "$address" ] || die "apt-get knows no source of Debian's packages here; run apt-get update."
  printf '%s\n' "$address"
}

# apt_settings FILE: writes this machine's settings of apt about the network to FILE, so that they are also used on the
# fresh Debian.
apt_settings() { apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$1" || true; }

# make_debian FOLDER PACKAGE…: makes a fresh Debian with these packages, by mmdebstrap.
make_debian() {
  need_packages mmdebstrap
  [ -n "$(debian_sources)" ] || apt-get update -qq
  [ -n "$(debian_sources)" ] || die "apt-get knows no source of Debian's packages here."
  local IFS=,
  apt_settings "$1.apt"
  debian_sources | mmdebstrap --quiet --variant=apt --skip=cleanup/apt --aptopt="$1.apt" --include="${*:2}" "" "$1" -
  rm "$1.apt"
}

# inside COMMAND…: runs a command on the Debian in the folder $root. The folders of the array root_folders are those of
# this machine.
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

# find_toolchain: sets `toolchain`, the folder of Swift's toolchain, and `of_toolchain`, the packages of Debian that it needs to build a
# package.
find_toolchain() {
  local program library runtime linker=binutils
  toolchain=$(dirname "$(dirname "$(realpath "$(command -v swiftc)")")")
  [ "$toolchain" != /usr ] || die "Swift is in /usr here; put a toolchain of swift.org into a folder of its own, and that into PATH."
  # Libraries beside the toolchain's programs come with it.
  mapfile -t runtime < <(for program in swift-frontend swift-build clang lld; do ldd "$toolchain/bin/$program"; done |
    awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
      library=$(realpath "$library")
      [ "$library" != "${library#"$toolchain"/}" ] || dpkg-query -S "$library" "${library#/usr}" 2>/dev/null || true
    done | sed 's/:.*//' | sort -u)
  # From Debian 13 on, the linker that Swift calls is in a separate package.
  [ -z "$(apt-cache --names-only search '^binutils-gold$')" ] || linker=binutils-gold
  of_toolchain=("${runtime[@]}" "$(dpkg-query -W -f '${Package}\n' 'libstdc++-*-dev' | sort -V | tail -n 1)" "$linker" git ca-certificates)
}

# share_toolchain: lets the Debian in $root use this machine's toolchain, and git find packages at the same places.
share_toolchain() {
  local key value folder
  root_folders+=("$toolchain")
  while read -r key value; do
    git config --file "$root/etc/gitconfig" --add "$key" "$value"
    folder=${key#url.}
    folder=${folder%.insteadof}
    [ ! -d "$folder" ] || root_folders+=("${folder%/}")
  done < <(git config --get-regexp '^url\..*\.insteadof$' | sort -u)
  inside "$toolchain/bin/swift" --version >"$work/said" 2>&1 || { cat "$work/said" >&2; die "Swift does not run on the fresh Debian."; }
}

# build_tests: builds the tests, and sets `tests`, `programs` and `runtime`: the program of the tests, its folder, and
# the folder of Swift's libraries.
build_tests() {
  need_swift
  need_packages $build_packages
  swift build --package-path "$top" --build-tests >&2
  programs=$(swift build --package-path "$top" --show-bin-path)
  tests=$(echo "$programs"/*.xctest)
  runtime=$(ldd "$tests" | sed -n 's|^.*libswiftCore.so => \(.*\)/[^/]* .*|\1|p')
}

# tested_in ROOT COMMAND…: runs a command with the programs of build_tests on the Debian in ROOT, in the folder of the
# project and in a network namespace.
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
