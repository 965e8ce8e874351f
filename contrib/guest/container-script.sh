#!/bin/bash
# Checks in a container whose first process is systemd how soon units follow the network. contrib/verify packages runs this
# script there, because the guest is too slow for figures.
set -u
export LC_ALL=C.UTF-8 SYSTEMD_PAGER=cat
failed=0
lines=/run/lines
# The time from the line, or from the route, to the unit: at most 100 ms, in microseconds.
limit=100000
times=()

# eventually COMMAND…: waits at most 20 seconds until a command succeeds.
eventually() {
  local end=$((SECONDS + 20))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.02
  done
}
gives() { [ "$("${@:2}")" = "$1" ]; }
ok() { echo "  ok      $1"; }
failed() {
  echo "  FAILED  $1"
  failed=1
}
# took TIME: remembers a time, in microseconds.
took() { times+=("$1"); }
# within WHAT: prints the times since the last call, and whether the middle one is within the limit. On a busy machine, a single one
# may be longer.
within() {
  local said sorted
  mapfile -t sorted < <(printf '%s\n' "${times[@]}" | sort -n)
  said="$1: $((sorted[${#sorted[@]} / 2] / 1000)) ms (median of ${#sorted[@]}), at most $((sorted[-1] / 1000)) ms"
  if [ "${sorted[${#sorted[@]} / 2]}" -le "$limit" ]; then ok "$said"; else failed "$said"; fi
  times=()
}
of_person() { runuser -u person -- env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user "$@"; }
# microseconds FILE: prints the time in a copy of /proc/uptime, which is that of the monotonic clock.
microseconds() { sed 's/ .*//; s/\.//; s/$/0000/' "$1"; }
# line: prints the time of the last line of `netwatch --follow`.
line() { tail -n 1 "$lines" | sed 's/.*"mono_ns":\([0-9]*\)[0-9][0-9][0-9],.*/\1/'; }
has_said() { tail -n 1 "$lines" | grep -q "\"status\":\"$1\""; }

useradd -u 1000 -m person
ip link set lo up
ip link add d0 type veth peer name d1
ip link set d1 up
ip link set d0 up
ip address add 10.64.0.2/24 dev d0
ip route add default via 10.64.0.1

systemctl start user@1000.service
mkdir -p /etc/systemd/user
cat >/etc/systemd/user/while-reachable.service <<'UNIT'
[Unit]
PartOf=network-reachable.target
[Service]
ExecStart=/bin/sleep infinity
# systemd forgets at once when a unit that nothing needs has ended.
ExecStopPost=/bin/cp -f /proc/uptime %t/stopped
[Install]
WantedBy=network-reachable.target
UNIT
of_person daemon-reload
of_person enable while-reachable.service 2>/dev/null
of_person start netwatch-targets.service
netwatch --follow --json --no-service >"$lines" &
follower=$!
eventually has_said wifi || failed "there is no first line"
begins() { eventually gives active of_person is-active while-reachable.service && eventually has_said wifi; }
ends() { eventually gives inactive of_person is-active while-reachable.service && eventually has_said not-reachable; }
begins || failed "a unit does not start with the network"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  ip link set d1 down
  ends || failed "a unit does not end with the network"
  took $(($(microseconds /run/user/1000/stopped) - $(line)))
  ip link set d1 up
  begins || failed "a unit does not start again"
  took $(($(of_person show -P ActiveEnterTimestampMonotonic while-reachable.service) - $(line)))
done
within "from the line to a unit that starts or ends with network-reachable.target"
kill "$follower"

unit=netwatch-wait-online.service
# waits COMMAND…: checks that the wait lasts until a command, and measures how long it goes on.
waits() {
  systemctl stop $unit
  systemctl --no-block start $unit
  eventually gives activating systemctl is-active $unit
  # The command shall already wait.
  sleep 0.3
  local began
  began=$(microseconds /proc/uptime)
  "$@"
  eventually gives active systemctl is-active $unit || failed "the wait does not end"
  took $(($(systemctl show -P ActiveEnterTimestampMonotonic $unit) - began))
}
for _ in 1 2 3 4 5; do
  ip route del default
  waits ip route add default via 10.64.0.1
done
within "from the route to network-online.target"
# Nothing leads to the internet but a VPN.
ip link add t0 type vxlan id 5 remote 10.64.0.1 dstport 4789
ip address add 10.8.0.2/24 dev t0
ip link set t0 up
ip route del default
for _ in 1 2 3 4 5; do
  ip route flush dev t0
  waits ip route add default dev t0
done
within "the same over a VPN alone"
ip link del t0

# Transfers: the user's manager starts the worker, and again for what is left, such as after a restart of the machine.
person() { runuser -u person -- env -u XDG_STATE_HOME HOME=/home/person XDG_RUNTIME_DIR=/run/user/1000 "$@"; }
person netwatch get -q --later http://10.64.0.1/it -o /home/person/it
if eventually gives active of_person is-active netwatch-transfers-now; then
  ok "a download in the background is a unit of the user's manager"
else
  failed "no unit for a download: $(person netwatch transfers)"
fi
of_person kill -s KILL netwatch-transfers-now
eventually gives inactive of_person is-active netwatch-transfers-now
of_person start netwatch-transfers.path
if eventually gives active of_person is-active netwatch-transfers; then
  ok "the path unit starts the worker for what is left"
else
  failed "the path unit starts nothing"
fi
person netwatch transfers cancel 1
if eventually gives inactive of_person is-active netwatch-transfers && eventually gives active of_person is-active netwatch-transfers.path; then
  ok "the worker ends when nothing is left, and its unit rests"
else
  failed "the worker does not rest: $(of_person status netwatch-transfers)"
fi
of_person stop netwatch-transfers.path
ip link del d0
systemctl stop $unit
systemctl --no-block start $unit
sleep 0.3
if gives activating systemctl is-active $unit; then ok "waits without any card"; else failed "does not wait without any card"; fi
exit "$failed"
