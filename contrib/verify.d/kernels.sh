#!/usr/bin/env bash
# Boots the kernel of each release of Debian in the guest, and runs in it the tests of all that netwatch asks a kernel, or
# those whose name matches NETWATCH_GUEST_TESTS. Needs no root. Some half an hour for each; downloads 60 MB for each.
#   contrib/kernels [RELEASE…]        otherwise bullseye (5.10), bookworm (6.1) and trixie (6.12)
#
# Prints a line for each kernel, and what is said of tests that fail. Exits with 1 if one has failed in one of them.
set -euo pipefail
. "$(dirname "$0")/guest-kernel/common.sh"
releases=("$@")
[ $# != 0 ] || releases=(bullseye bookworm trixie)
# Modems are left out: the driver that stands in for one is built for this machine's kernel alone. LostPathTests and one of
# TrafficTests need nginx, openssl or curl.
suites='ReachabilityTests|TunnelTests|TunnelEndTests|UnderlayLossTests|ReplacedRouteTests|InterfaceMediumTests'
suites+='|StandInTests|KernelFeatureTests|ExplainTests|TargetTests|TrafficTests/(?!.readers with intervals)|QualityTests'
suites+='|GuestTests/(WiFi|Signals|Sleep|Hotspot|USB)'
export NETWATCH_GUEST_TESTS=${NETWATCH_GUEST_TESTS:-"^IntegrationTests\.($suites)"}
export NETWATCH_GUEST_SECONDS=${NETWATCH_GUEST_SECONDS:-5400}
mkdir -p "$guest_folder"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for release in "${releases[@]}"; do
  status=0
  NETWATCH_GUEST_KERNEL=$release "$top/contrib/guest" >"$log" 2>&1 || status=$?
  case $status in
  0) say "ok      $release: $(grep -a '^. Test run with' "$log")" ;;
  77) say "missing $release: $(tail -n 1 "$log")" ;;
  *)
    grep -aE '^✘|^netwatch: ' "$log" >&2 || tail -n 20 "$log" >&2
    say "FAILED  $release"
    failed=1
    ;;
  esac
done
exit "$failed"
