#!/usr/bin/env bash
# Fails if programs that are written for an earlier version would no longer compile: if a library product lacks a public
# declaration of that version, or if contrib/c/symbols lacks a promise of it. A version that may break the API by the rules of
# Semantic Versioning passes, and the breakages are printed. Without a TAG, the earlier version is the latest tag v*, but for
# the one that the files are. Builds that version once in .build-api, some minutes, and then takes seconds.
#   contrib/api-check [TAG]
#   contrib/api-check --self-test     tries itself on a small package; half a minute
set -euo pipefail
. "$(dirname "$0")/common.sh"
need_swift
need_packages $build_packages git python3
command -v swift-api-digester >/dev/null ||
  die "there is no swift-api-digester here; it comes with the toolchains of swift.org."

# git_of PACKAGE ARGUMENT…
git_of() { git -C "$1" "${@:2}"; }

# version_at PACKAGE [TAG]: that of the files as they are, or as they were.
version_at() {
  local path=Sources/Netwatch/Support/NetwatchVersion.swift
  if [ $# = 2 ]; then git_of "$1" show "$2:$path"; else cat "$1/$path"; fi | sed -n 's/.*static let text = "\(.*\)"/\1/p'
}

# may_break OLD NEW: whether Semantic Versioning lets NEW break the API of OLD.
may_break() {
  local old new
  IFS=. read -ra old <<<"$1"
  IFS=. read -ra new <<<"$2"
  ((new[0] > old[0])) || ((old[0] == 0 && new[0] == 0 && new[1] > old[1]))
}

# earlier_tag PACKAGE: the latest version, but for the one that the files are.
earlier_tag() {
  local but=()
  ! git_of "$1" diff --quiet HEAD || but=(--no-contains HEAD)
  git_of "$1" tag --merged HEAD "${but[@]}" --list 'v[0-9]*' --sort=-version:refname | sed -n 1p
}

# of_manifest PACKAGE: a line each: "module NAME" for the targets of library products, "pkg-config NAME" for C libraries.
of_manifest() {
  swift package --package-path "$1" dump-package | python3 -c '
import json, sys
package = json.load(sys.stdin)
modules = {target for product in package["products"] if "library" in product["type"] for target in product["targets"]}
for target in package["targets"]:
    if target["name"] in modules:
        print("module", target["name"])
    if target.get("pkgConfig"):
        print("pkg-config", target["pkgConfig"])'
}

# dump PACKAGE FOLDER BUILD: writes the API of each library product as FOLDER/NAME.json; BUILD is for swift build.
dump() {
  local package=$1 folder=$2 build=$3 kind name folder_of_c flag includes=() modules=()
  while read -r kind name; do
    if [ "$kind" = module ]; then
      modules+=("$name")
    else
      for flag in $(pkg-config --cflags-only-I "$name"); do includes+=(-Xcc "$flag"); done
    fi
  done < <(of_manifest "$package")
  [ ${#modules[@]} -gt 0 ] || die "$package has no library products."
  for folder_of_c in "$package"/Sources/C*/; do [ ! -d "$folder_of_c" ] || includes+=(-I "$folder_of_c"); done
  mkdir -p "$folder"
  rm -f "$folder"/*.json
  for name in "${modules[@]}"; do
    say "Building $name of $(basename "$folder")"
    swift build --package-path "$package" --scratch-path "$build" --target "$name" >&2 || die "$name does not build; see above."
  done
  includes+=(-I "$(swift build --package-path "$package" --scratch-path "$build" --show-bin-path)/Modules")
  for name in "${modules[@]}"; do
    swift-api-digester -sdk / -dump-sdk -swift-only -avoid-location -avoid-tool-args -module "$name" "${includes[@]}" \
      -module-cache-path "$folder/cache" -o "$folder/$name.json" 2>"$folder/said" || true
    # It also ends with 0 if it could not read the module; then its file is empty.
    grep -q '"usr"' "$folder/$name.json" || { cat "$folder/said" >&2; die "swift-api-digester could not read $name."; }
  done
  rm -r "$folder/cache" "$folder/said"
}

# breakages OLD NEW: what the folder NEW lacks of the folder OLD, one a line.
breakages() {
  local file name
  for file in "$1"/*.json; do
    name=$(basename "$file" .json)
    if [ -f "$2/$name.json" ]; then
      swift-api-digester -sdk / -diagnose-sdk -compiler-style-diags -module-cache-path "$work/cache" \
        -input-paths "$file" -input-paths "$2/$name.json" 2>&1 >/dev/null | sed -n "s/.*API breakage: /$name: /p"
    else
      echo "$name: the library is gone"
    fi
  done
}

# broken_promises PACKAGE TAG: what contrib/c/symbols had then and has no more. A new soname is a new library.
broken_promises() {
  local path=contrib/c/symbols
  git_of "$1" show "$2:$path" 2>/dev/null | sort -u >"$work/promised" || true
  sort -u "$1/$path" >"$work/promises" 2>/dev/null || true
  ! grep -q '^soname' <(comm -13 "$work/promised" "$work/promises") || return 0
  comm -23 "$work/promised" "$work/promises" | sed 's/^/libnetwatch: /; s/$/ is promised no more/'
}

# check PACKAGE [TAG]
check() {
  local package=$1 tag=${2:-} old new scratch=$1/.build-api commit found promises
  [ -n "$tag" ] || tag=$(earlier_tag "$package")
  if [ -z "$tag" ]; then
    say "There is no earlier tag v*, so there is nothing to compare with. The first version is what the second one is held to."
    return 0
  fi
  commit=$(git_of "$package" rev-parse --verify --quiet "$tag^{commit}") || die "there is no tag $tag; 'git tag --list' prints those that there are."
  old=$(version_at "$package" "$commit")
  new=$(version_at "$package")
  if [ ! -f "$scratch/$commit/done" ]; then
    rm -rf "$scratch"
    mkdir -p "$scratch"
    git clone --quiet --shared "$package" "$scratch/source"
    git_of "$scratch/source" checkout --quiet --detach "$commit"
    dump "$scratch/source" "$scratch/$commit" "$scratch/build"
    rm -rf "$scratch/source" "$scratch/build"
    touch "$scratch/$commit/done"
  fi
  dump "$package" "$work/present" "$package/.build"
  found=$(breakages "$scratch/$commit" "$work/present")
  promises=$(broken_promises "$package" "$commit")
  [ -z "$found$promises" ] || printf '%s\n' "$found" "$promises" | sed '/^$/d'
  if [ -n "$promises" ]; then
    say "netwatch: programs that are linked to the libnetwatch of $tag would break. Put the promises back, or give the library a new soname."
    return 1
  elif [ -z "$found" ]; then
    say "Nothing of $tag is missing."
  elif may_break "$old" "$new"; then
    say "Version $new may break the API of $old. Name each of these lines in contrib/CHANGELOG.md."
  else
    say "netwatch: version $new may not break the API of $tag. Put back what is missing, or raise the version."
    return 1
  fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

self_test() {
  local package=$work/package failed=0
  local source=$package/Sources/Small/Small.swift version=$package/Sources/Netwatch/Support/NetwatchVersion.swift
  # expect STATUS TEXT WHAT
  expect() {
    local status=0
    (check "$package") >"$work/said" 2>&1 || status=$?
    if [ "$status" = "$1" ] && grep -qF -e "$2" "$work/said"; then
      say "  ok      $3"
    else
      say "  FAILED  $3; status $status, and this was said:"
      cat "$work/said" >&2
      failed=1
    fi
  }
  is_version() { printf 'public enum NetwatchVersion {\n  public static let text = "%s"\n}\n' "$1" >"$version"; }
  save() {
    git_of "$package" add --all
    git_of "$package" -c user.name=test -c user.email=test@localhost -c commit.gpgsign=false commit --quiet --message "$1"
    git_of "$package" tag --no-sign "v$1"
  }

  mkdir -p "$package/contrib/c" "$(dirname "$source")" "$(dirname "$version")"
  git init --quiet "$package"
  printf '.build*\n' >"$package/.gitignore"
  cat >"$package/Package.swift" <<'SWIFT'
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "small",
  products: [.library(name: "Small", targets: ["Small"]), .library(name: "Netwatch", targets: ["Netwatch"])],
  targets: [.target(name: "Small"), .target(name: "Netwatch")])
SWIFT
  printf 'public struct Small {\n  public func kept() {}\n  public func gone() {}\n  func hidden() {}\n}\n' >"$source"
  printf 'soname libsmall.so.1\nsymbol kept\nsymbol gone\n' >"$package/contrib/c/symbols"
  is_version 1.0.0
  save 1.0.0
  expect 0 'nothing to compare' "says that there is no earlier version"
  is_version 1.0.1
  save 1.0.1
  expect 0 'Nothing of v1.0.0 is missing' "finds the earlier version when the last commit has a tag"
  sed -i '/hidden/d; s/kept() {}/kept() {}\n  public func added() {}/' "$source"
  expect 0 'Nothing of v1.0.1 is missing' "lets a function be added, and a hidden one be removed"
  sed -i '/gone/d' "$source"
  expect 1 'Small: func Small.gone() has been removed' "reports a function that was removed"
  is_version 1.1.0
  expect 1 'version 1.1.0 may not break' "holds a minor version to it"
  is_version 2.0.0
  expect 0 'Small: func Small.gone() has been removed' "lets a major version break the API, and says how"
  sed -i '/gone/d' "$package/contrib/c/symbols"
  expect 1 'libnetwatch: symbol gone is promised no more' "reports a broken promise of the C library"
  sed -i 's/so\.1/so.2/' "$package/contrib/c/symbols"
  expect 0 'Version 2.0.0 may break' "lets a library with another soname drop it"
  if may_break 0.1.0 0.2.0 && may_break 0.9.0 1.0.0 && ! may_break 0.1.0 0.1.1 && ! may_break 1.9.0 1.10.0 && ! may_break 2.0.0 1.9.0; then
    say "  ok      knows which versions may break the API"
  else
    say "  FAILED  knows which versions may break the API"
    failed=1
  fi
  return "$failed"
}

case ${1:-} in
--self-test) self_test ;;
-*) die "api-check knows --self-test, and not $1." ;;
*) check "$top" "$@" ;;
esac
