# Says what a release still needs of its owner: the licence, the date, the tag; and what is wrong in lists and headings.
# Seconds.
need_swift
need_packages python3 git
version=$(version_of_netwatch)
manifest=$(swift package --package-path "$top" dump-package)

# Each check is a function. If something is missing, it prints the reason in one sentence and returns 3. Any other
# status except 0 is a failure.
missing() { printf '%s\n' "$*"; return 3; }

libraries() {
  python3 -c 'import json, sys
for product in json.load(sys.stdin)["products"]:
    if "library" in product["type"]: print(product["name"])' <<<"$manifest"
}
products() { python3 -c 'import json, sys; [print(product["name"]) for product in json.load(sys.stdin)["products"]]' <<<"$manifest"; }

same_version() { "$top/contrib/packaging/version" >/dev/null; }
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
  missing "there is no LICENSE; choose a licence, then name it in contrib/packaging/debian/copyright and contrib/packaging/sbom too."
}
clean() {
  [ -z "$(git -C "$top" status --porcelain)" ] || missing "there are changes that are not committed; git status lists them."
}
tag() {
  local commit
  commit=$(git -C "$top" rev-parse --verify --quiet "v$version^{commit}") || missing "there is no tag v$version; make it last." || return
  [ "$commit" = "$(git -C "$top" rev-parse HEAD)" ] ||
    { echo "the tag v$version is on another commit than this one; raise the version with contrib/packaging/version."; return 1; }
}
is_missing=0
for fact in same_version headings changes products_table index licence clean tag; do
  status=0
  # The check runs in a subshell, so `die` ends only the check.
  said=$("$fact" 2>&1) || status=$?
  case $status in
  0) result=ok ;;
  3) result=missing is_missing=1 ;;
  *) result=FAILED failed=1 ;;
  esac
  printf '%-15s%-8s %s\n' "$fact" "$result" "$said" | sed 's/ *$//'
done
[ "$failed" = 1 ] || [ "$is_missing" = 0 ] || { echo "Only the owner can do what is missing." && exit 3; }
