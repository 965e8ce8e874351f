# Shared by all scripts in contrib. Source this file; it sets `top`, the folder of the project.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "netwatch: $*"; exit 1; }

# The Debian packages that the build needs. A script adds those that it needs itself.
build_packages="pkg-config libnl-3-dev libnl-route-3-dev libc-ares-dev libidn2-dev libcurl4-openssl-dev libpsl-dev libssl-dev zlib1g-dev libsqlite3-dev libmosquitto-dev"

# Prints the version. contrib/packaging/version checks that other files have the same.
version_of_netwatch() { sed -n 's/.*static let text = "\(.*\)"/\1/p' "$top/Sources/Netwatch/Support/NetwatchVersion.swift"; }

# section_of_changelog VERSION: prints the name of the version's section in the list of changes, which is [Unreleased]
# until the version has a section.
section_of_changelog() { if grep -qF "## [$1] - " "$top/contrib/CHANGELOG.md"; then echo "[$1]"; else echo "[Unreleased]"; fi; }

release_folder=$top/.build-release

# compile PRODUCT…: compiles products with optimisation in $release_folder, each module once for all of them. The
# package of libnetwatch has all products and needs Swift 6.3; an older Swift builds the programs from netwatch's own
# package.
#
# The path of the project's folder must not be in the result, so that two builds of a commit give the same bytes. The
# hash of a module depends on this path and would be in the binary. Debugging symbols also contain the path, and are
# stripped off later. The checks for exclusive access cost some hundred nanoseconds for each event; every test runs with
# them. Without regular expressions, which no program uses, each static program is 1.2 MB smaller.
compile() {
  local product
  for product; do
    swift build --package-path "$(release_package)" --scratch-path "$release_folder" -c release --product "$product" \
      --static-swift-stdlib --disable-local-rpath -Xswiftc -cross-module-optimization -Xswiftc -enforce-exclusivity=unchecked \
      -Xswiftc -file-prefix-map -Xswiftc "$top=/netwatch" -Xswiftc -file-compilation-dir -Xswiftc /netwatch \
      -Xswiftc -gnone -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen \
      -Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import >&2
  done
}
release_package() { if is_swift 6.3; then printf '%s\n' "$top/contrib/bindings/c"; else printf '%s\n' "$top"; fi; }
# compiled: prints the folder with the objects of each module.
compiled() { printf '%s\n' "$release_folder/release"; }

# need_packages PACKAGE…: installs the Debian packages that are missing, or ends with a message that names them. With
# NETWATCH_INSTALL=no it does nothing, because a package build installs what the package's recipe lists by the names of
# its distribution.
need_packages() {
  [ "${NETWATCH_INSTALL:-}" != no ] || return 0
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    die "there is no apt-get here; install what Debian calls ${missing[*]}, then run this again."
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "become root, or install sudo, so that I can install ${missing[*]}."
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  local holder install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=1800)
  holder=$(lslocks --noheadings --output PATH,COMMAND,PID 2>/dev/null | awk '$1 ~ "^/var/lib/dpkg/lock" { print $2 " (process " $3 ")"; exit }')
  [ -z "$holder" ] || say "Waiting for $holder, which is installing packages"
  # An old list of packages, or none at all, is the usual reason for a failure.
  { "${install[@]}" install -y "${missing[@]}" >/dev/null 2>&1 ||
    { "${install[@]}" update >&2 && "${install[@]}" install -y "${missing[@]}" >/dev/null; }; } ||
    die "apt-get could not install ${missing[*]}; see above."
}

# folder_of_program PACKAGE PATH: prints the folder of a program. If the program is not installed, its package is
# unpacked into a cache and not installed.
folder_of_program() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/programs/$1
  if [ ! -x "/$2" ] && [ ! -x "$folder/$2" ]; then
    say "Fetching $1"
    mkdir -p "$folder"
    (cd "$folder" && { apt-get download -qq "$1" >&2 || die "apt-get could not download $1; see above."; } &&
      dpkg-deb -x "$1"_*.deb . && rm "$1"_*.deb)
  fi
  if [ -x "/$2" ]; then dirname "/$2"; else dirname "$folder/$2"; fi
}

# libraries_of PACKAGE: prints the library packages on which a package depends.
libraries_of() { apt-cache depends "$1" | sed -n 's/^  Depends: \(lib[^ ]*\)$/\1/p' | grep -v -- '-perl$'; }

swift_version() { swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | sed -n 1p; }
# is_swift VERSION: succeeds if Swift has this version or a later one.
is_swift() { [ "$(printf '%s\n' "$1" "$(swift_version)" | sort -V | head -n 1)" = "$1" ]; }

# need_swift [VERSION]: ends with a message if Swift is missing or older than VERSION. Default: 6.2.
need_swift() {
  local wanted=${1:-6.2}
  command -v swift >/dev/null ||
    die "there is no swift here; install Swift $wanted or later (https://www.swift.org/install/linux)."
  is_swift "$wanted" || die "Swift $wanted or later is needed; this one is $(swift_version)."
}
