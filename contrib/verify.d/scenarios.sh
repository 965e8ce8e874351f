# Runs the kernel scenarios of the integration tests through libnetwatch, in C and in Python: the lines are the same.
# Five minutes. ARGUMENT: the folder that contrib/bindings/c/build has printed.
. "$top/contrib/bindings/world.sh"
need_packages gcc libc6-dev pkg-config iproute2 util-linux dnsmasq-base
PATH=$PATH:$(folder_of_program nginx usr/sbin/nginx)
export PATH
find_library "$@"
build_tests
export LD_LIBRARY_PATH=$library/lib PYTHONPATH=$top/contrib/bindings/python/src
# shellcheck disable=SC2046 # Several words.
cc -std=c11 -Wall -Wextra -pedantic -Werror "$top/contrib/bindings/c/examples/poll.c" -o "$work/poll" $(pkg-config --cflags --libs netwatch)
suites='IntegrationTests\.(Reachability|Tunnel|TunnelEnd|UnderlayLoss|InterfaceMedium|ReplacedRoute|StandIn|AdvertisedRoute|Target|LostPath|Connection|KernelFeature)Tests'

# through NAME WORD...: runs the scenarios with this program instead of `netwatch --follow`.
through() {
  printf '#!/bin/sh\necho started >>%s\nexec %s "$@"\n' "$work/starts" "${*:2}" >"$work/follower"
  chmod 755 "$work/follower"
  rm -rf "$work/starts" "$work/lines"
  mkdir "$work/lines"
  if NETWATCH_TEST_LINES=$work/lines NETWATCH_TEST_FOLLOWER=$work/follower python3 "$top/contrib/test.d/run.py" "$tests" "$suites" >"$work/said" 2>&1; then
    # If the program was started less often, netwatch itself has been tested instead.
    [ "$(wc -l <"$work/starts")" -ge 50 ] || die "$1 was hardly used: $(wc -l <"$work/starts") times."
    NETWATCH_TEST_LINES=$work/lines "$top/contrib/lint" schemas
    say "  ok      $(tail -n 1 "$work/said") through $1, which was started $(wc -l <"$work/starts") times"
  else
    grep -A 12 '^FAILED' "$work/said" >&2
    die "some scenarios come out otherwise through $1; see above."
  fi
}

through C "$work/poll"
through Python "$(command -v python3) -m libnetwatch"
