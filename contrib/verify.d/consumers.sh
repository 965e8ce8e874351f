# Uses each library product in a package of its own, on a fresh Debian with a Swift toolchain and what README names; one of them also
# without the trait Hostnames.
# As root, twenty minutes; 300 MB from Debian. ARGUMENTS: names of products.
#
# The package depends on this commit by its URL and uses a single product. It is built, and runs a few lines that use
# the product. The libraries that each program needs are compared with contrib/PRODUCTS.md. At the end, the package of
# README is built with its program.
be_root "make a Debian to build on"
need_swift
need_packages binutils git python3
products=(Netwatch NetwatchNetlink NetwatchObservation NetwatchStream NetwatchLines NetwatchLog NetwatchHTTP
  NetwatchHTTPFoundation NetwatchPortal NetwatchAsyncHTTPClient)
declared=$(swift package --package-path "$top" dump-package | python3 -c '
import json, sys
print(*[product["name"] for product in json.load(sys.stdin)["products"] if "library" in product["type"]])')
[ "$declared" = "${products[*]}" ] || die "Package.swift has the libraries $declared; give each of them lines of code in $0."
# A product after which "without Hostnames" stands is built without traits. That comes first, so nothing that was built stands in.
products=("NetwatchNetlink without Hostnames" "${products[@]}")
[ $# = 0 ] || products=("$@")
root=$work/root

# uses PRODUCT: prints a program that uses the product. The program must print what follows // in it.
uses() {
  case $1 in
  Netwatch) cat <<'END'
import Netwatch

let activity = ActivityIndicator()
let request = activity.begin("upload")
print(activity.isVisible) // false
request.end()
END
    ;;
  NetwatchNetlink) cat <<'END'
import Netwatch
import NetwatchNetlink

let monitor = try NetworkMonitor.start()
print(monitor.currentPath.status.rawValue) // not-reachable
END
    ;;
  NetwatchObservation) cat <<'END'
import Netwatch
import NetwatchObservation

print(NetworkModel.self) // NetworkModel
END
    ;;
  "NetwatchNetlink without Hostnames") cat <<'END'
import Netwatch
import NetwatchNetlink

print(try NetworkMonitor.start().currentPath.status.rawValue)
do {
  _ = try NetworkMonitor.start(target: NetworkTarget("host.example"))
} catch {
  print(error) // enable the trait Hostnames
}
END
    ;;
  NetwatchStream) cat <<'END'
import Netwatch
import NetwatchStream

let activity = ActivityIndicator()
let reporter = try ActivityReporter(of: activity)
print(type(of: reporter)) // ActivityReporter
END
    ;;
  NetwatchLines) cat <<'END'
import NetwatchLines

let monitor = try PolledMonitor(["no-service"])
print(monitor.record.path.status.rawValue) // not-reachable
END
    ;;
  NetwatchLog) cat <<'END'
import NetwatchLog

do {
  for try await outage in try NetworkLog(path: "/nowhere/log").outages() { print(outage) }
} catch {
  print(error) // there is no log at '/nowhere/log'
}
END
    ;;
  NetwatchAsyncHTTPClient) cat <<'END'
import NetwatchAsyncHTTPClient

print("nothing without its trait") // nothing without its trait
END
    ;;
  NetwatchHTTP) cat <<'END'
import NetwatchHTTP

let session = try HTTPSessionManager()
do {
  print(try await session.get("http://127.0.0.1:1/", as: [String].self))
} catch {
  print(error.kind) // cannot connect
}
END
    ;;
  NetwatchHTTPFoundation) cat <<'END'
import NetwatchHTTP
import NetwatchHTTPFoundation

var configuration = HTTPSessionConfiguration()
configuration.requestSerializer = JSONRequestSerializer()
print(configuration.requestSerializer) // JSONRequestSerializer
END
    ;;
  NetwatchPortal) cat <<'END'
import Netwatch
import NetwatchPortal

var configuration = MonitorConfiguration()
configuration.portalAPI = HTTPPortalAPIClient()
print(configuration.portalAPI == nil) // false
END
    ;;
  *) die "$1 is no library product; they are $declared." ;;
  esac
}

# Only the packages that README names are installed for the build.
mapfile -t named < <(grep -oE '\b(pkg-config|(lib[a-z0-9.-]+|zlib1g)-dev)\b' "$top/README.md" | grep -v '^libnetwatch' | sort -u)
[ "${#named[@]}" -gt 5 ] || die "README names no packages of Debian that the build needs."

say "A fresh Debian with the packages that README names: ${named[*]}"
find_toolchain
make_debian "$root" "${of_toolchain[@]}" "${named[@]}"
mkdir -p "$root/tmp/home" "$root/source" "$root/consumer/Sources/consumer"
share_toolchain
version=$(version_of_netwatch)
git clone --quiet --bare "$top" "$root/source/netwatch.git"
git -C "$root/source/netwatch.git" tag --force "$version" "$(git -C "$top" rev-parse HEAD)" >/dev/null
say "The commit $(git -C "$top" log -1 --format='%h') as version $version"

for product in "${products[@]}"; do
  began=$SECONDS
  traits= library=${product%% *}
  [ "$library" = "$product" ] || traits=', traits: []'
  uses "$product" >"$root/consumer/Sources/consumer/main.swift"
  wanted=$(sed -n 's|.* // ||p' "$root/consumer/Sources/consumer/main.swift")
  cat >"$root/consumer/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(url: "file:///source/netwatch.git", exact: "$version"$traits)],
  targets: [
    .executableTarget(name: "consumer", dependencies: [.product(name: "$library", package: "netwatch")])
  ])
END
  # The smallest product comes first, so no module that a later one brings can stand in for one that this one forgets.
  # shellcheck disable=SC2016 # For the inner shell.
  if ! inside env PATH="$toolchain/bin:/usr/bin:/bin" swift build --package-path /consumer >"$work/said" 2>&1; then
    say "  FAILED  $product does not build:"
    { grep -a '^[^ ].*error:' "$work/said" || tail -n 20 "$work/said"; } | awk '!seen[$0]++' >&2
    failed=1
    continue
  fi
  program=$root/consumer/.build/debug/consumer
  said=$(inside env LD_LIBRARY_PATH="$toolchain/lib/swift/linux" timeout 60 unshare --net /consumer/.build/debug/consumer 2>&1) || true
  grep -qF -e "$wanted" <<<"$said" || { say "  FAILED  $product says '$said' and not '$wanted'"; failed=1; continue; }
  # Only Debian's libraries are compared. Libraries whose names begin with libswift, Foundation and dispatch come with
  # the toolchain.
  needs=$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }' |
    { grep -vE '^(libswift|lib_?Foundation|libdispatch|libBlocksRuntime|libc\.|libm\.|libgcc_s|libstdc|ld-linux)' || true; } | sort | paste -sd ' ')
  promised=$(awk -F ' *[|] *' -v name="\`${product/ without Hostnames/\` without \`Hostnames}\`" '$2 == name { gsub("`", "", $4); print $4 }' "$top/contrib/PRODUCTS.md")
  [ "${needs:-none}" = "$promised" ] ||
    { say "  FAILED  $product is linked to '${needs:-none}', and contrib/PRODUCTS.md says '$promised'"; failed=1; continue; }
  say "  ok      $product ($((SECONDS - began)) s)"
done

# Only the URL of README's manifest is replaced.
git -C "$root/source/netwatch.git" update-ref refs/heads/main "$(git -C "$top" rev-parse HEAD)"
mkdir -p "$root/readme/Sources/example"
readme_block '// swift-tools-version' | sed 's|URL of this repository|file:///source/netwatch.git|' >"$root/readme/Package.swift"
cp "$top/Tests/ReadmeExample/main.swift" "$root/readme/Sources/example"
expect "README: its package builds" inside env PATH="$toolchain/bin:/usr/bin:/bin" swift build --package-path /readme
expect "README: its program runs" says 'now: not reachable' \
  inside env LD_LIBRARY_PATH="$toolchain/lib/swift/linux" timeout 10 unshare --net stdbuf -oL /readme/.build/debug/example
