# Programs that are written for the last release still compile: nothing public of its libraries is missing.
#
# A version that may break the API according to Semantic Versioning passes, and the breakages are printed. The last
# release is the latest tag v*, except a tag of the commit that is checked. It is built once in .build-api, which takes
# some minutes. `verify api` tests this check.
need_packages git
command -v swift-api-digester >/dev/null ||
  die "there is no swift-api-digester here; it comes with the toolchains of swift.org."

# git_of PACKAGE ARGUMENT…: runs git in the folder of a package.
git_of() { git -C "$1" "${@:2}"; }

# version_at PACKAGE [TAG]: prints the version in the files as they are, or as they were at TAG.
version_at() {
  local path=Sources/Netwatch/Support/NetwatchVersion.swift
  if [ $# = 2 ]; then git_of "$1" show "$2:$path"; else cat "$1/$path"; fi | sed -n 's/.*static let text = "\(.*\)"/\1/p'
}

# may_break OLD NEW: succeeds if Semantic Versioning allows the version NEW to break the API of the version OLD.
may_break() {
  local old new
  IFS=. read -ra old <<<"$1"
  IFS=. read -ra new <<<"$2"
  ((new[0] > old[0])) || ((old[0] == 0 && new[0] == 0 && new[1] > old[1]))
}

# earlier_tag PACKAGE: prints the tag of the latest version, except one of the commit that is checked.
earlier_tag() {
  local but=()
  ! git_of "$1" diff --quiet HEAD || but=(--no-contains HEAD)
  git_of "$1" tag --merged HEAD "${but[@]}" --list 'v[0-9]*' --sort=-version:refname | sed -n 1p
}

# of_manifest PACKAGE: prints a line "module NAME" for each target of a library product, and "pkg-config NAME" for each
# C library.
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

# dump PACKAGE FOLDER BUILD: writes the API of each library product to FOLDER/NAME.json. BUILD is the scratch path of
# swift build.
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
    # swift-api-digester also ends with 0 if it could not read the module. Its file is then empty.
    grep -q '"usr"' "$folder/$name.json" || { cat "$folder/said" >&2; die "swift-api-digester could not read $name."; }
  done
  rm -r "$folder/cache" "$folder/said"
}

# breakages OLD NEW: prints what the folder NEW lacks of the folder OLD, one thing in each line.
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

# broken_promises PACKAGE TAG: prints the symbols that contrib/bindings/c/symbols had at TAG and does not have any more.
# A new soname is a new library, which may break all promises.
broken_promises() {
  local path=contrib/bindings/c/symbols
  git_of "$1" show "$2:$path" 2>/dev/null | sort -u >"$work/promised" || true
  sort -u "$1/$path" >"$work/promises" 2>/dev/null || true
  ! grep -q '^soname' <(comm -13 "$work/promised" "$work/promises") || return 0
  comm -23 "$work/promised" "$work/promises" | sed 's/^/libnetwatch: /; s/$/ is promised no more/'
}

# check PACKAGE [TAG]: compares the package with the last release, or with TAG.
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

[ "${NETWATCH_API_TEST:-}" = yes ] || check "$top"
