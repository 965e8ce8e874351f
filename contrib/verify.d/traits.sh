# Tests what the traits of the package add, and that nothing of them is fetched or built without them.
# Ten minutes; the packages of the traits from their registry. Needs namespaces.
need_swift
need_packages iproute2 python3
traits=Hostnames,Logging,Metrics,Tracing,ServiceLifecycle,AsyncHTTPClient

# Package.resolved names what was fetched before, and would hold the packages of the traits from now on.
cp -a "$top/Package.resolved" "$work/Package.resolved" 2>/dev/null || true
restore() { if [ -e "$work/Package.resolved" ]; then cp -a "$work/Package.resolved" "$top/"; else rm -f "$top/Package.resolved"; fi; }
rm -f "$top/Package.resolved"

say "Without traits"
resolved=$(swift package --package-path "$top" --scratch-path "$work/plain" resolve >&2 && ls "$work/plain/checkouts")
[ "$resolved" = swift-http-types ] || { say "  FAILED  without a trait, these are fetched: $resolved"; failed=1; }

say "With all traits"
scratch=$top/.build-traits
options=(--package-path "$top" --scratch-path "$scratch" --traits "$traits")
swift build "${options[@]}" --build-tests >&2 || { restore; die "the package does not build with all traits."; }
swift test "${options[@]}" --skip-build --filter TraitTests >&2 || failed=1
programs=$(swift build "${options[@]}" --show-bin-path)
restore

say "Requests of AsyncHTTPClient over a cable that is pulled"
namespaces=(--net --mount --pid --fork --mount-proc --kill-child)
[ "$(id -u)" = 0 ] || namespaces+=(--user --map-root-user)
unshare "${namespaces[@]}" python3 "$top/contrib/verify.d/traits.py" "$programs/TraitProbe" || failed=1
