#!/usr/bin/env bash
# Builds the documentation of the libraries with Swift's own DocC. Fails if DocC has anything to say, or if a library has too many
# public declarations without a comment (contrib/doc-coverage). Prints the folder, which any web server can serve.
#   contrib/docs
set -euo pipefail
. "$(dirname "$0")/common.sh"
need_swift
need_packages $build_packages python3
for tool in docc swift-symbolgraph-extract; do
  command -v "$tool" >/dev/null || die "there is no $tool here; it comes with the toolchains of swift.org."
done
libraries=(Netwatch NetwatchNetlink NetwatchStream NetwatchLines NetwatchHTTP NetwatchHTTPFoundation)
scratch=$top/.build-docs
rm -rf "$scratch"
mkdir "$scratch"

for library in "${libraries[@]}"; do swift build --package-path "$top" --target "$library" >&2; done
programs=$(swift build --package-path "$top" --show-bin-path)
target=$(swift -print-target-info | sed -n 's/^ *"triple": "\(.*\)",$/\1/p' | sed -n 1p)
# What the modules import: each other, and the headers of C.
includes=(-I "$programs/Modules")
for folder in "$top"/Sources/C*/; do includes+=(-I "$folder"); done
for flag in $(pkg-config --cflags-only-I libnl-3.0 libcurl openssl); do includes+=(-Xcc "$flag"); done

for library in "${libraries[@]}"; do
  say "Documenting $library"
  mkdir "$scratch/$library"
  swift-symbolgraph-extract -module-name "$library" -output-dir "$scratch/$library" -minimum-access-level public \
    -target "$target" "${includes[@]}" -module-cache-path "$scratch/cache" >&2
  docc convert "$top/Sources/$library/$library.docc" --additional-symbol-graph-dir "$scratch/$library" \
    --warnings-as-errors --enable-inherited-docs --fallback-bundle-identifier "$library" \
    --output-path "$scratch/$library.doccarchive" >&2
done
"$top/contrib/doc-coverage" "${libraries[@]/#/$scratch/}"
archives=("${libraries[@]/%/.doccarchive}")
docc merge "${archives[@]/#/$scratch/}" --synthesized-landing-page-name netwatch --output-path "$scratch/site" >&2
printf '%s\n' "$scratch/site"
