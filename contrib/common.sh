# Shared by the scripts here; to be sourced. Sets `top`, the project's folder.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "netwatch: $*"; exit 1; }

# What the build needs, then what the caller names.
build_packages="pkg-config libnl-3-dev libnl-route-3-dev libc-ares-dev libidn2-dev libcurl4-openssl-dev libssl-dev zlib1g-dev libsqlite3-dev"

# The version stands here, and contrib/packaging/version holds all others to it.
version_of_netwatch() { sed -n 's/.*static let text = "\(.*\)"/\1/p' "$top/Sources/Netwatch/Support/NetwatchVersion.swift"; }

# Prints the name of a version's section in the list of changes, which is [Unreleased] until there is one: section_of_changelog VERSION
section_of_changelog() { if grep -qF "## [$1] - " "$top/contrib/CHANGELOG.md"; then echo "[$1]"; else echo "[Unreleased]"; fi; }

# Options of swift build, with which the folder of the project leaves no trace in what is built. A module's hash would stand in the
# binary and tells the folder, and so do debugging symbols, which are stripped off later: the linker's ID of the build is made of both.
same_anywhere=(-Xswiftc -file-prefix-map -Xswiftc "$top=/netwatch" -Xswiftc -file-compilation-dir -Xswiftc /netwatch
  -Xswiftc -gnone -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen)

# Installs the Debian packages that are missing, or says which. With NETWATCH_INSTALL=no it does nothing: the build of a package
# has what the package's recipe asks for, by the names of its distribution.
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
  export DEBIAN_FRONTEND=noninteractive
  # A list that is old or was never fetched is the usual reason for a failure.
  { "${as_root[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null 2>&1 ||
    { "${as_root[@]}" apt-get update -qq >&2 &&
      "${as_root[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null; }; } ||
    die "apt-get could not install ${missing[*]}; see above."
}

# Prints the folder of a program, which is taken out of its package without installing that: folder_of_program PACKAGE PATH
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

# Prints the packages of libraries that a package depends on.
libraries_of() { apt-cache depends "$1" | sed -n 's/^  Depends: \(lib[^ ]*\)$/\1/p' | grep -v -- '-perl$'; }

# need_swift [VERSION]: that or a later one; otherwise 6.2.
need_swift() {
  local version wanted=${1:-6.2}
  command -v swift >/dev/null ||
    die "there is no swift here; install Swift $wanted or later (https://www.swift.org/install/linux)."
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | sed -n 1p)
  [ "$(printf '%s\n' "$wanted" "${version:-0}" | sort -V | head -n 1)" = "$wanted" ] ||
    die "Swift $wanted or later is needed; this one is ${version:-of an unknown version}."
}

# route_namespace: commands for a namespace in which a default route can come and go over a link of its own, and lines_are.
route_namespace() {
  cat <<'COMMANDS'
  ip link set lo up
  ip link add hot0 type veth peer name hot1
  ip link set hot0 up
  ip link set hot1 up
  ip addr add 10.0.0.2/24 dev hot0
  # The kernel tries its IPv6 addresses first, which would be events of their own.
  sleep 3
  # lines_are N PID FILE: waits until the program has written so many lines to the file. Fails if it ends with fewer.
  lines_are() {
    until [ "$(wc -l <"$3")" -ge "$1" ]; do
      kill -0 "$2" 2>/dev/null || break
      sleep 0.02
    done
    [ "$(wc -l <"$3")" -ge "$1" ] || { echo "Process $2 has ended with fewer than $1 lines." >&2; return 1; }
  }
COMMANDS
}
