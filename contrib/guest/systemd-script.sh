#!/bin/bash
# Checks what the units do if systemd is the first process. contrib/verify packages runs this script in its guest. The
# package is installed there, and also lies in /root.
set -u
export LC_ALL=C.UTF-8 SYSTEMD_PAGER=cat
failed=0
lines=/tmp/lines

# eventually COMMAND…: waits at most 30 seconds until a command succeeds, because everything is slow in the guest.
eventually() {
  local end=$((SECONDS + 30))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

# expect WHAT COMMAND…: waits until a command succeeds, and prints the result.
expect() {
  if eventually "${@:2}" >/tmp/said 2>&1; then
    echo "  ok      $1"
  else
    echo "  FAILED  $1: ${*:2}: $(tail -n 3 /tmp/said)"
    failed=1
  fi
}

# gives TEXT COMMAND…: succeeds if the command prints exactly TEXT.
gives() { [ "$("${@:2}")" = "$1" ]; }
property() { systemctl show -P "$1" "${2:-netwatch.service}"; }
has() { gives "$2" property "$1"; }
not() { ! "$@"; }
as_person() { runuser -u person -- env XDG_RUNTIME_DIR=/run/user/1000 "$@"; }
of_person() { as_person systemctl --user "$@"; }
# now PATTERN: succeeds if the last line of `netwatch --follow` matches PATTERN.
now() { tail -n 1 "$lines" | grep -q -- "$1"; }
# losses COUNT: succeeds if `netwatch --follow` has reported this many losses.
losses() { gives "$1" grep -c '"event":"reachability","reason":"link_down"' "$lines"; }
are_gone() { ! compgen -G "$1" >/dev/null; }

useradd -u 1000 -m person
ip link set lo up
# The other end of this link is up, and leads nowhere.
ip link add d0 type veth peer name d1
ip link set d1 up
ip address add 10.64.0.2/24 dev d0
ip link set d0 up
ip route add default via 10.64.0.1

echo "After the installation"
for unit in netwatch.socket netwatch.service netwatch-log.service netwatch-mqtt.service netwatch-wait-online.service; do
  expect "$unit is not enabled" gives disabled systemctl is-enabled $unit
  expect "$unit does not run" gives inactive systemctl is-active $unit
done
for unit in netwatch.socket netwatch.service netwatch-log.service netwatch-targets.service; do
  expect "the user's $unit is not enabled" gives disabled systemctl --global is-enabled $unit
done

echo "The machine's service"
systemctl start netwatch
expect "is active, and has said so itself" has SubState running
expect "is not root's" test "$(awk '/^Uid:/ { print $2 }' "/proc/$(property MainPID)/status")" -ge 61184
expect "serves everyone" gives 666 stat -c %a /run/netwatch/netwatch.sock
as_person netwatch --follow --json >"$lines" &
follower=$!
expect "gives the state to a user" now '"status":"wifi","medium":"virtual","interface":"d0"'
netwatch run -- sleep infinity &
request=$!
expect "tells the user of root's request" now '"in_flight":1'
ip link set d0 down
expect "tells of a loss" losses 1
ip link set d0 up
ip route add default via 10.64.0.1
expect "tells that it is over" grep -q '"reason":"route_up"' "$lines"
systemctl reload netwatch
expect "goes on after a reload" has SubState running
kill "$request"
expect "counts no request any more" now '"in_flight":0'

echo "Its watchdog"
mkdir -p /run/systemd/system/netwatch.service.d
printf '[Service]\nWatchdogSec=8\n' >/run/systemd/system/netwatch.service.d/soon.conf
systemctl daemon-reload
systemctl restart netwatch
for count in 1 2; do
  fed=$(property WatchdogTimestampMonotonic)
  expect "is fed, $count" not has WatchdogTimestampMonotonic "$fed"
done
kill -STOP "$(property MainPID)"
expect "ends a service that hangs, and starts another" has NRestarts 1
expect "which is active" has SubState running
rm -r /run/systemd/system/netwatch.service.d
systemctl daemon-reload

echo "The end"
systemctl stop netwatch.socket netwatch.service
for result in Result=success ExecMainStatus=0 ActiveState=inactive; do
  expect "is clean, $result" has "${result%=*}" "${result#*=}"
done
expect "leaves no socket" test ! -e /run/netwatch/netwatch.sock
ip link set d0 down
expect "does not end who follows" losses 2
ip link set d0 up
ip route add default via 10.64.0.1
kill "$follower"

echo "The user's service"
systemctl start user@1000.service
of_person start netwatch
expect "is active" gives running of_person show -P SubState netwatch.service
expect "serves its user alone" gives "600 person" stat -c "%a %U" /run/user/1000/netwatch.sock
as_person netwatch run -- sleep infinity &
expect "counts a request" eval 'as_person netwatch status --json | grep -q "\"in_flight\":1"'
of_person stop netwatch.socket netwatch.service
expect "ends cleanly" gives success of_person show -P Result netwatch.service
expect "leaves no socket" test ! -e /run/user/1000/netwatch.sock
of_person start netwatch.socket
expect "starts with its first client" eval 'as_person netwatch status && of_person is-active netwatch.service'
of_person stop netwatch.socket netwatch.service

echo "The machine's log"
systemctl start netwatch-log
expect "is root's alone" gives 700 stat -L -c %a /var/lib/netwatch
expect "is written without root" test "$(awk '/^Uid:/ { print $2 }' "/proc/$(property MainPID netwatch-log.service)/status")" -ge 61184
# The outage begins after the log.
expect "has begun" eval 'netwatch log --file /var/lib/netwatch/log.sqlite | grep -q d0'
ip link set d0 down
ip link set d0 up
ip route add default via 10.64.0.1
expect "has an outage" eval 'netwatch log --outages --file /var/lib/netwatch/log.sqlite | grep -q link'
systemctl stop netwatch-log
expect "ends cleanly" gives success property Result netwatch-log.service
expect "needs no service" gives inactive systemctl is-active netwatch.service

echo "The machine's word to a broker"
expect "needs its files" eval 'systemctl start netwatch-mqtt 2>&1 | grep -q "Assertion failed"'
expect "is not tried again without them" gives inactive systemctl is-active netwatch-mqtt.service
identity=$(netwatch mqtt --show-id)
install -d /etc/netwatch
echo 'NETWATCH_MQTT="mqtt://127.0.0.1 --silence 15"' >/etc/netwatch/mqtt.conf
install -m 600 /dev/null /etc/netwatch/mqtt.password
systemctl start mosquitto netwatch-mqtt
expect "is connected, by the identity that root sees" gives "$identity is connected to 127.0.0.1:1883" property StatusText netwatch-mqtt.service
expect "is not root's" test "$(awk '/^Uid:/ { print $2 }' "/proc/$(property MainPID netwatch-mqtt.service)/status")" -ge 61184
expect "has an identity that root still sees" gives "$identity" netwatch mqtt --show-id
expect "lets nobody else speak" eval 'netwatch mqtt mqtt://127.0.0.1 2>&1 | grep -q "speaks for this machine"'
ip link set d0 down
expect "tells a loss" eval 'mosquitto_sub -h 127.0.0.1 -t "netwatch/1/$identity/line" -C 1 -W 5 | grep -q not-reachable'
pkill -STOP -P "$(property MainPID netwatch-mqtt.service)" netwatch
ip link set d0 up
ip route add default via 10.64.0.1
expect "starts a follower that hangs again" eval 'mosquitto_sub -h 127.0.0.1 -t "netwatch/1/$identity/line" -C 1 -W 5 | grep -q "\"status\":\"wifi\""'
kill -KILL "$(property MainPID netwatch-mqtt.service)"
expect "starts again itself" gives 1 property NRestarts netwatch-mqtt.service
expect "is connected again" gives "$identity is connected to 127.0.0.1:1883" property StatusText netwatch-mqtt.service
systemctl stop netwatch-mqtt
expect "ends cleanly" gives success property Result netwatch-mqtt.service
expect "says that it has ended" eval 'mosquitto_sub -h 127.0.0.1 -t "netwatch/1/$identity/presence" -C 1 -W 5 | grep -q "\"absence\":\"ended\""'
systemctl stop mosquitto
rm -r /etc/netwatch

echo "The user's log"
expect "is kept by the commands of README" as_person env HOME=/home/person sh -e /srv/keep-a-log
expect "is the user's alone" gives 600 stat -c %a /home/person/.local/state/netwatch/log.sqlite
expect "can be read" eval 'as_person env HOME=/home/person netwatch log | grep -q d0'
of_person disable --now netwatch-log

echo "The user's service without user namespaces"
rm -r /home/person/.config/systemd/user/netwatch.service.d
sysctl -q -w user.max_user_namespaces=0
of_person daemon-reload
of_person start netwatch.service 2>/dev/null
expect "does not start" not of_person is-active --quiet netwatch.service
expect "says why" eval 'journalctl -b | grep -q "Failed to set up user namespacing"'
of_person stop netwatch.socket netwatch.service
as_person install -D -m 644 /srv/plain/user.conf /home/person/.config/systemd/user/netwatch.service.d/plain.conf
of_person daemon-reload
of_person reset-failed netwatch.service netwatch.socket
of_person start netwatch.service
expect "starts with the drop-in" gives running of_person show -P SubState netwatch.service
expect "gives the state" eval 'as_person netwatch status | grep -q d0'
of_person stop netwatch.socket netwatch.service
rm -r /home/person/.config/systemd/user/netwatch.service.d
sysctl -q -w user.max_user_namespaces=10000
of_person daemon-reload

echo "The recipes"
units=/home/person/.config/systemd/user
as_person install -D -m 644 -t $units /srv/recipes/restic-unmetered.service
ip link set d0 down
# A stand-in replaces the backup, because only the condition is tried. systemd may forget at once how a skipped unit has
# ended.
as_person mkdir -p $units/restic-unmetered.service.d
as_person tee $units/restic-unmetered.service.d/stand-in.conf >/dev/null <<'UNIT'
[Service]
EnvironmentFile=
ExecStart=
ExecStart=/usr/bin/touch %h/backup
ExecStopPost=/bin/sh -c 'echo "$$SERVICE_RESULT" >%h/result'
UNIT
of_person daemon-reload
of_person start restic-unmetered.service
expect "skip a backup without a network" gives exec-condition cat /home/person/result
expect "have not made it" test ! -e /home/person/backup
ip link set d0 up
ip route add default via 10.64.0.1
of_person start restic-unmetered.service
expect "make it over one that costs nothing" test -e /home/person/backup

echo "The user's targets"
# The unit comes and goes with the target.
as_person tee $units/while-reachable.service >/dev/null <<'UNIT'
[Unit]
PartOf=network-reachable.target
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=network-reachable.target
UNIT
of_person daemon-reload
of_person enable while-reachable.service 2>/dev/null
of_person start netwatch-targets.service
for unit in network-reachable.target network-unmetered.target while-reachable.service; do
  expect "$unit starts with the network" gives active of_person is-active $unit
done
ip link set d0 down
for unit in network-reachable.target network-unmetered.target while-reachable.service; do
  expect "$unit stops with the network" gives inactive of_person is-active $unit
done
ip link set d0 up
ip route add default via 10.64.0.1
expect "they start again" gives active of_person is-active while-reachable.service
mkdir -p /etc/netwatch
echo "metered interface d0" >/etc/netwatch/rules
expect "a network that costs money ends one of them" gives inactive of_person is-active network-unmetered.target
expect "and not the other one" gives active of_person is-active network-reachable.target
rm -r /etc/netwatch
expect "it starts when the network costs nothing" gives active of_person is-active network-unmetered.target
of_person stop netwatch-targets.service
for unit in network-reachable.target network-unmetered.target while-reachable.service; do
  expect "$unit ends with netwatch-targets" gives inactive of_person is-active $unit
done

echo "The wait for the network"
ip link set d0 down
systemctl --no-block start netwatch-wait-online.service
expect "lasts without a network" gives activating systemctl is-active netwatch-wait-online.service
ip link set d0 up
ip route add default via 10.64.0.1
expect "ends with the route" gives active systemctl is-active netwatch-wait-online.service
systemctl stop netwatch-wait-online.service
ip address flush dev d0
ip -6 address add fd00:64::2/64 dev d0 nodad
ip -6 route add default via fd00:64::1
systemctl --no-block start netwatch-wait-online.service
expect "ends with IPv6 alone, though another card has no carrier" gives active systemctl is-active netwatch-wait-online.service
systemctl stop netwatch-wait-online.service
ip link set d0 down
mkdir -p /run/systemd/system/netwatch-wait-online.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/bin/netwatch wait --quiet --timeout 2 --for wired\n' \
  >/run/systemd/system/netwatch-wait-online.service.d/wired.conf
systemctl daemon-reload
systemctl start netwatch-wait-online.service 2>/dev/null
expect "gives up at the time and condition of a drop-in" gives failed systemctl is-active netwatch-wait-online.service
rm -r /run/systemd/system/netwatch-wait-online.service.d
systemctl daemon-reload
ip link set d0 up
ip address add 10.64.0.2/24 dev d0
ip route add default via 10.64.0.1

echo "The package"
systemctl enable --now netwatch 2>/dev/null
before=$(property MainPID)
dpkg -i /root/netwatch_*.deb >/tmp/said 2>&1 || { cat /tmp/said; failed=1; }
expect "restarts the service when it is upgraded" eval "has SubState running && not has MainPID $before"
dpkg --purge netwatch >/tmp/said 2>&1 || { cat /tmp/said; failed=1; }
expect "ends it when it is purged" not pgrep -f "netwatch serve"
expect "leaves no file" are_gone "/etc/systemd/*/*/netwatch*"
expect "leaves no memory of the units" are_gone "/var/lib/systemd/deb-*/netwatch*"
expect "leaves no folder" test ! -e /run/netwatch
exit "$failed"
