# Shared by the benchmarks: tools, programs, and a network namespace. Source this file.

set -euo pipefail

bench_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_folder=${NETWATCH_BENCH_BUILD:-$bench_folder/.build}
compiler_flags=(-O2 -Wall -Wextra)

# The PATH of ordinary users often lacks the folders that contain ip.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# die MESSAGE: exits with 2, because 1 means that a target was missed.
die() {
  say "$*"
  exit 2
}

missing_packages() {
  command -v gcc >/dev/null || echo gcc
  echo '#include <stdio.h>' | gcc -fsyntax-only -x c - 2>/dev/null || echo libc6-dev
  command -v pkg-config >/dev/null || echo pkg-config
  pkg-config --exists gio-2.0 2>/dev/null || echo libglib2.0-dev
  command -v ip >/dev/null || echo iproute2
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

install_packages() {
  local packages
  mapfile -t packages < <(missing_packages)
  ((${#packages[@]})) || return 0
  command -v apt-get >/dev/null ||
    die "missing, by Debian's names: ${packages[*]}; please install them"
  say "installing ${packages[*]}"
  local install=(apt-get install -y --no-install-recommends "${packages[@]}")
  as_root "${install[@]}" >&2 ||
    { as_root apt-get update >&2 && as_root "${install[@]}" >&2; } ||
    die "could not install ${packages[*]}"
}

compile_programs() {
  local glib_flags
  read -ra glib_flags < <(pkg-config --cflags --libs gio-2.0)
  mkdir -p "$build_folder"
  (
    cd "$bench_folder"
    gcc "${compiler_flags[@]}" c-raw-q.c -o "$build_folder/c-raw-q"
    gcc "${compiler_flags[@]}" glib-monitor.c "${glib_flags[@]}" -o "$build_folder/glib-monitor"
    gcc "${compiler_flags[@]}" harness.c measure.c latency.c probe.c formats.c storm.c footprint.c activity.c fanout.c bridges.c \
      sockets.c peer.c process.c resolver.c routes.c service.c \
      -o "$build_folder/harness"
  ) || die "could not compile the programs"
}

# compile_swift PRODUCT: builds a Swift product into the folder `release` beside the other programs.
compile_swift() {
  command -v swift >/dev/null || die "there is no swift here"
  say "building $1"
  mkdir -p "$build_folder"
  swift build --package-path "$bench_folder" --scratch-path "$build_folder" -c release --product "$1" >&2 ||
    die "could not build $1"
}

netwatch_path() {
  local path=${NETWATCH:-}
  if [[ -z $path ]]; then
    say "building netwatch"
    path=$("$bench_folder/../release" --shared | tail -n 1) || die "contrib/release failed"
  fi
  path=$(command -v -- "$path") && path=$(realpath -- "$path") ||
    die "no such program: ${NETWATCH:-what contrib/release printed}"
  printf '%s\n' "$path"
}

# run_benchmark NAME [--rounds N] [--apart | --cold] [--host] [--probe]: builds everything, and runs a benchmark in a
# network namespace.
run_benchmark() {
  install_packages
  build_folder=$(mkdir -p "$build_folder" && cd "$build_folder" && pwd)
  compile_programs
  local netwatch namespace=(unshare -n)
  netwatch=$(netwatch_path)
  ((EUID == 0)) || namespace=(unshare -Urn)
  "${namespace[@]}" true || die "no right to make a network namespace"
  # Pages of a file that was just written count as private dirty until they reach the disk.
  sync
  # With --host, the benchmark's own server answers questions about the name.
  local prepare='ip link set lo up && exec "$@"'
  if [[ " $* " == *' --host '* ]]; then
    namespace+=(--mount)
    prepare="echo nameserver 127.0.0.1 >'$build_folder/resolv.conf' &&
      mount --bind '$build_folder/resolv.conf' /etc/resolv.conf && $prepare"
  fi
  exec "${namespace[@]}" sh -c "$prepare" sh "$build_folder/harness" "$1" \
    --netwatch "$netwatch" --programs "$build_folder" "${@:2}"
}
