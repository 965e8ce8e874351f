# Runs the tests of all that netwatch asks a kernel on the kernels of Debian 11, 12 and 13.
# Half an hour for each kernel, and 60 MB. ARGUMENTS: releases of Debian, such as trixie.
#
# NETWATCH_GUEST_TESTS     a pattern for the tests. Default: the tests of everything that netwatch asks a kernel
. "$top/contrib/guest/common.sh"
releases=("$@")
[ $# != 0 ] || releases=(bullseye bookworm trixie)
# Tests of modems are left out, because the driver that simulates a modem is built only for this machine's kernel.
# LostPathTests and one test of TrafficTests need nginx, openssl or curl.
suites='ReachabilityTests|TunnelTests|TunnelEndTests|UnderlayLossTests|ReplacedRouteTests|InterfaceMediumTests'
suites+='|StandInTests|KernelFeatureTests|ExplainTests|TargetTests|TrafficTests/(?!.readers with intervals)|QualityTests'
suites+='|GuestTests/(WiFi|Signals|Sleep|Hotspot|USB)'
export NETWATCH_GUEST_TESTS=${NETWATCH_GUEST_TESTS:-"^IntegrationTests\.($suites)"}
export NETWATCH_GUEST_SECONDS=${NETWATCH_GUEST_SECONDS:-5400}
mkdir -p "$guest_folder"
log=$work/log
for release in "${releases[@]}"; do
  if ! NETWATCH_GUEST_KERNEL=$release "$top/contrib/verify" guest >"$log" 2>&1; then
    grep -aE '^✘|^netwatch: ' "$log" >&2 || tail -n 20 "$log" >&2
    say "FAILED  $release"
    failed=1
  elif grep -q '^missing' "$log"; then
    say "missing $release: $(tail -n 1 "$log")"
  else
    say "ok      $release: $(grep -a '^. Test run with' "$log")"
  fi
done
