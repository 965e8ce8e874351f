#!/usr/bin/env bash
# Says what a release still needs: runs every check there is, and prints a line for each with "ok", "missing" or "FAILED". What is
# missing is a decision or a step of the owner's, such as the licence, the date or the tag; what has failed is an error. Exits
# with 1 unless everything is ok. The output of each check lies in .build-release-check. As root; some five hours on two processors.
#   contrib/release-check [CHECK…]     CHECK: the first word of a line; without one, all of them
#   contrib/release-check --quick      what takes seconds; exits with 0 if only something is missing
set -euo pipefail
. "$(dirname "$0")/common.sh"
need_swift
need_packages python3 git
version=$(version_of_netwatch)
manifest=$(swift package --package-path "$top" dump-package)
out=$top/.build-release-check
mkdir -p "$out"

# A check prints why something is missing, in one sentence, and returns 3. Any other status than 0 is a failure.
missing() { printf '%s\n' "$*"; return 3; }

libraries() {
  python3 -c 'import json, sys
for product in json.load(sys.stdin)["products"]:
    if "library" in product["type"]: print(product["name"])' <<<"$manifest"
}
products() { python3 -c 'import json, sys; [print(product["name"]) for product in json.load(sys.stdin)["products"]]' <<<"$manifest"; }

changes() {
  local heading said
  heading=$(grep -F "## [$version] - " "$top/contrib/CHANGELOG.md" || true)
  [ -n "$heading" ] || missing "contrib/CHANGELOG.md has no section '## [$version] - $(date +%F)'; rename [Unreleased] on the day of the release." || return
  [[ $heading =~ ^##\ \[[0-9.]+\]\ -\ [0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || { echo "contrib/CHANGELOG.md has '$heading', whose date is no YYYY-MM-DD."; return 1; }
  said=$(sed -n "/^## \[$version\]/,/^## /{/^- /p}" "$top/contrib/CHANGELOG.md")
  [ -n "$said" ] || { echo "contrib/CHANGELOG.md says nothing about $version."; return 1; }
}
headings() {
  local wrong
  wrong=$(grep -E '^#{2,3} ' "$top/contrib/CHANGELOG.md" |
    grep -vxE '## \[Unreleased\]|## \[[0-9.]+\] - [0-9]{4}-[0-9]{2}-[0-9]{2}|### (Added|Changed|Deprecated|Removed|Fixed|Security)' || true)
  [ -z "$wrong" ] || { echo "contrib/CHANGELOG.md has headings that Keep a Changelog does not know: $wrong"; return 1; }
}
products_table() {
  local rows
  rows=$(sed -n 's/^| `\([^`]*\)` |.*/\1/p' "$top/contrib/PRODUCTS.md" | sort)
  diff <(products | sort) <(printf '%s\n' "$rows") >&2 || { echo "contrib/PRODUCTS.md and Package.swift have other products."; return 1; }
}
index() {
  local targets
  targets=$(sed -n 's/.*documentation_targets: \[\(.*\)\]/\1/p' "$top/.spi.yml" | tr -d ' ' | tr ',' '\n')
  diff <(libraries) <(printf '%s\n' "$targets") >&2 || { echo ".spi.yml does not document the libraries of Package.swift."; return 1; }
  [ "$(wc -c <"$top/.spi.yml")" -le 1000 ] || { echo ".spi.yml has more than the 1,000 bytes that the index reads."; return 1; }
}
licence() {
  local files=("$top"/LICEN[CS]E* "$top"/COPYING*) file
  for file in "${files[@]}"; do [ ! -e "$file" ] || return 0; done
  missing "there is no LICENSE; choose a licence, then name it in contrib/debian/copyright and contrib/sbom too."
}
clean() {
  [ -z "$(git -C "$top" status --porcelain)" ] || missing "there are changes that are not committed; git status lists them."
}
tag() {
  local commit
  commit=$(git -C "$top" rev-parse --verify --quiet "v$version^{commit}") || missing "there is no tag v$version; make it last." || return
  [ "$commit" = "$(git -C "$top" rev-parse HEAD)" ] ||
    { echo "the tag v$version is on another commit than this one; raise the version with contrib/version."; return 1; }
}
# script PATH ARGUMENT…
script() {
  [ -x "$top/$1" ] || missing "there is no $1 here." || return
  "$top/$1" "${@:2}"
}

# The name, "quick" or "long", and the command. Long ones come in an order in which the cheaper fail first.
checks=(
  "version    quick script contrib/version"
  "changelog  quick headings"
  "date       quick changes"
  "products   quick products_table"
  "index      quick index"
  "licence    quick licence"
  "clean      quick clean"
  "tag        quick tag"
  "api-test   long  script contrib/api-check --self-test"
  "api        long  script contrib/api-check"
  "docs       long  script contrib/docs"
  "services   long  script contrib/services/check"
  "packages   long  script contrib/package-check"
  "sbom       long  script contrib/sbom-check"
  "archive    long  script contrib/archive-check"
  "channels   long  script contrib/channels/check"
  "consumers  long  script contrib/consumers-check"
  "libraries  long  script contrib/libraries"
  "kernels    long  script contrib/kernels"
  "same-bytes long  script contrib/reproducible"
  "ci         long  script .ci/run"
)
quick=no
[ "${1:-}" != --quick ] || { quick=yes; shift; }
for wanted in "$@"; do
  grep -q "^$wanted " <(printf '%s\n' "${checks[@]}") || die "there is no check $wanted; there are $(printf '%s\n' "${checks[@]}" | cut -d ' ' -f 1 | paste -sd ' ')."
done
is_missing=0
has_failed=0
for check in "${checks[@]}"; do
  read -r name kind command <<<"$check"
  [ "$quick" = no ] || [ "$kind" = quick ] || continue
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  began=$SECONDS
  [ "$kind" = quick ] || say "           $name runs; see .build-release-check/$name"
  status=0
  # In a shell of its own: "die" ends that alone.
  (eval "$command") >"$out/$name" 2>&1 || status=$?
  last=$(tail -n 1 "$out/$name")
  case $status in
  0) result=ok last= ;;
  3) result=missing is_missing=1 ;;
  *) result=FAILED has_failed=1 ;;
  esac
  [ "$kind" = quick ] || last="($((SECONDS - began)) s)${last:+ $last}"
  printf '%-10s %-8s %s\n' "$name" "$result" "$last" | sed 's/ *$//'
  [ "$result" != FAILED ] || [ "$kind" = quick ] || tail -n 5 "$out/$name" | sed 's/^/           /' >&2
done
[ "$has_failed" = 0 ] || exit 1
[ "$quick" = yes ] || [ "$is_missing" = 0 ] || exit 1
