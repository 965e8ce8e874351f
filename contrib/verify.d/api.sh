# Tries `contrib/lint api` on a small package whose API grows, shrinks and changes its version.
# Half a minute.
need_swift
need_packages git python3
# NETWATCH_API_TEST makes api.sh define its functions and run nothing.
NETWATCH_API_TEST=yes
. "$top/contrib/lint.d/api.sh"
package=$work/package
source=$package/Sources/Small/Small.swift version=$package/Sources/Netwatch/Support/NetwatchVersion.swift
# expect STATUS TEXT WHAT: checks the package, and expects this exit status and a line with TEXT.
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

mkdir -p "$package/contrib/bindings/c" "$(dirname "$source")" "$(dirname "$version")"
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
printf 'soname libsmall.so.1\nsymbol kept\nsymbol gone\n' >"$package/contrib/bindings/c/symbols"
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
sed -i '/gone/d' "$package/contrib/bindings/c/symbols"
expect 1 'libnetwatch: symbol gone is promised no more' "reports a broken promise of the C library"
sed -i 's/so\.1/so.2/' "$package/contrib/bindings/c/symbols"
expect 0 'Version 2.0.0 may break' "lets a library with another soname drop it"
if may_break 0.1.0 0.2.0 && may_break 0.9.0 1.0.0 && ! may_break 0.1.0 0.1.1 && ! may_break 1.9.0 1.10.0 && ! may_break 2.0.0 1.9.0; then
  say "  ok      knows which versions may break the API"
else
  say "  FAILED  knows which versions may break the API"
  failed=1
fi
