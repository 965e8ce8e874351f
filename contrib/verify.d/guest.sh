# Runs the tests of Tests/IntegrationTests/Guest in a kernel of their own with radios and modems. ARGUMENT: a filter.
# Nine minutes, without root and without KVM; 240 MB the first time.
#
# NETWATCH_GUEST_CACHE     the folder for the unpacked packages. Default: ~/.cache/netwatch/guest
# NETWATCH_GUEST_KERNEL    the release of Debian whose kernel is booted, such as bullseye. Default: that of this machine
# NETWATCH_GUEST_TESTS     a pattern for the full names of tests. Default: all tests that need a guest. Replaces the
#                          filter
# NETWATCH_GUEST_SECONDS   the time after which the guest is ended. Default: 900
# NETWATCH_ALL_LINKS       1 tries the quality of all twelve slow links, which takes five more minutes. Default: four
# NETWATCH_ENDING_ROUNDS   how often each end of a WiFi connection is staged. Default: 5
# NETWATCH_PICTURE         1 runs what contrib/guest/picture draws
# NETWATCH_TEST_PATIENCE   how many times longer tests wait before they give up. Default: 4
#
# Exits with 77 if Debian's packages are not available.
. "$top/contrib/guest/common.sh"
"$guest_parts/fetch"
need_swift
need_packages $build_packages iproute2 util-linux mount mawk dnsmasq-base libc-bin
cd "$top"
swift build --build-tests >&2
programs=$(swift build --show-bin-path)
# /tmp may be too small for the file system of the guest.
rmdir "$work"
work=$(mktemp -d "$guest_folder/run.XXXXXX")

tests=$(echo "$programs"/*.xctest)
"$guest_parts/pack" "$work/files" "$tests" "$programs"/{netwatch,netwatch-log,NetwatchProbe,TestSandbox,ReadmeExample} \
  Tests/IntegrationTests/Golden/*.txt

variables=(NETWATCH_GUEST=1 "NETWATCH_TEST_PATIENCE=${NETWATCH_TEST_PATIENCE:-4}")
for variable in NETWATCH_ALL_LINKS NETWATCH_ENDING_ROUNDS NETWATCH_PICTURE; do
  [ -z "${!variable:-}" ] || variables+=("$variable=${!variable}")
done
[ -t 1 ] || variables+=(NO_COLOR=1)
# The program of the tests is run itself, because `swift test` is not in the guest.
command=(env "${variables[@]}" "$tests" --testing-library swift-testing --no-parallel)

# guest LOG ARGUMENT…: boots a guest that runs the tests which the arguments select.
guest() {
  local script status=0
  printf -v script '%q ' "${command[@]}" "${@:2}"
  "$guest_parts/boot" "$work/files" <<<"$script" | tee "$1" || status=$?
  # Without this check, a filter that matches no test would pass, and so would a suite that is left out.
  [ "$status" != 0 ] || grep -q 'Test run with [1-9].* passed' "$1" || die "no test has run."
  return "$status"
}

all='^IntegrationTests\.Guest.*'
if [ -n "${NETWATCH_GUEST_TESTS:-}${1:-}" ]; then
  guest "$work/log" --filter "${NETWATCH_GUEST_TESTS:-$all($1)}"
  exit
fi
# The tests of these suites mostly wait for slow links, radios and clocks. The others run in a second guest at the same
# time.
slow="$all(Ending|Quality|Signals|Sleep)"
guest "$work/log-2" --filter "$slow" >"$work/output" 2>&1 &
status=0
guest "$work/log" --filter "$all" --skip "$slow" || status=$?
wait $! || status=$?
cat "$work/output"
exit "$status"
