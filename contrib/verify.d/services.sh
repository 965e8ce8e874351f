# Starts `netwatch serve` and the log under OpenRC and under runit, on a fresh Debian.
# As root, two minutes after the build, and 60 MB from Debian. ARGUMENT: a binary of contrib/release.
#
# Another user can use the service, which has none of root's rights. The service restarts when it is killed, reloads its
# files, and is gone when it is stopped.
be_root "make a Debian to start the services on"
need_packages mmdebstrap util-linux
binary=${1:-$("$top/contrib/release" --shared | tail -n 1)}
root=$work/root

say "A fresh Debian"
make_debian "$root" openrc runit procps iproute2 libnl-3-200 libnl-route-3-200 libc-ares2 libidn2-0 libsqlite3-0
"$top/contrib/packaging/install" "$binary" "$root/usr" /usr
install -m 755 -t "$root/etc/init.d" "$top/contrib/packaging/services/openrc"/netwatch{,-log}
install -D -m 644 "$top/contrib/packaging/services/openrc/netwatch.conf" "$root/etc/conf.d/netwatch"
cp -r "$top/contrib/packaging/services/runit"/netwatch{,-log} "$root/etc/sv/"
chroot "$root" useradd --system --no-create-home --shell /usr/sbin/nologin netwatch

# Functions for both supervisors, which run on the fresh Debian.
cat >"$root/root/common.sh" <<'END'
socket=/run/netwatch/netwatch.sock
failed=0

# expect WHAT COMMAND…
expect() {
  if "${@:2}" >/root/said 2>&1; then
    echo "  ok      $1"
  else
    echo "  FAILED  $1: ${*:2}"
    tail -n 5 /root/said | cut -c 1-300
    failed=1
  fi
}

# within COMMAND…: it succeeds within ten seconds.
within() {
  local end=$((SECONDS + 10))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

service() { pgrep -x -u netwatch netwatch; }
is_gone() { ! service && [ ! -e /run/netwatch ]; }
has_another_than() { local now; now=$(service) && [ "$now" != "$1" ]; }
# Only the service knows of requests; root has begun one there.
is_used_by_a_stranger() {
  setpriv --reuid=12345 --regid=12345 --clear-groups netwatch status --json >/root/line && cat /root/line && grep -q '"in_flight":1[,}]' /root/line
}
# has_no_rights [GROUP]: the service may be in this group.
has_no_rights() {
  local status
  status=$(cat "/proc/$(service)/status") && echo "$status" &&
    grep -Eq $'^CapPrm:\t0+$' <<<"$status" && grep -Eq $'^CapEff:\t0+$' <<<"$status" &&
    grep -Eq $'^NoNewPrivs:\t1$' <<<"$status" && grep -Eq "^Groups:"$'\t'" *${1:-}\$" <<<"$status" &&
    ! grep -E $'^[UG]id:.*\t0(\t|$)' <<<"$status"
}
takes_many_clients() { grep -E '^Max open files +16384 +16384 ' "/proc/$(service)/limits"; }
belongs_to_root() { ls -ld "$socket" "${socket%/*}" && [ "$(stat -c '%U %a' "$socket")" = 'root 666' ] && [ "$(stat -c '%U %a' "${socket%/*}")" = 'root 755' ]; }

# tries START STOP RELOAD MESSAGES: commands of the supervisor, and the file that has the service's messages.
tries() {
  expect "starts" eval "$1"
  expect "is there" within service
  # The rest would only wait for what is not there.
  [ "$failed" = 0 ] || return 0
  netwatch run -- sleep 1000 &
  local request=$! killed
  expect "is used by another user" within is_used_by_a_stranger
  expect "has a socket that is root's" belongs_to_root
  expect "has no right of root" has_no_rights
  expect "takes many clients" takes_many_clients
  killed=$(service)
  expect "is killed" kill -KILL "$killed"
  expect "comes back" within has_another_than "$killed"
  expect "is used again" within is_used_by_a_stranger
  killed=$(service)
  expect "reloads" eval "$3"
  expect "is the same after that" within is_used_by_a_stranger
  expect "has not ended" test "$(service)" = "$killed"
  expect "stops" eval "$2"
  expect "is gone, with its socket" within is_gone
  # The request goes on without a service, and the verdict comes from the kernel.
  expect "is not needed" sh -c 'netwatch status --json | grep "\"in_flight\":0[,}]"'
  expect "starts again" eval "$1"
  expect "is used after that" within is_used_by_a_stranger
  kill "$request"
  # Another service of the same socket ends, and this one keeps it.
  expect "refuses a second one" sh -c '! netwatch serve'
  expect "stops again" eval "$2"
  expect "is gone again" within is_gone
  expect "has a file for its messages" test -e "$4"
}

# keeps_a_log START STOP: commands of the supervisor. Root reads the log of the machine if root has no log itself.
keeps_a_log() {
  rm -rf /var/lib/netwatch
  expect "starts the log" eval "$1"
  expect "writes the log" within eval 'netwatch log | grep -q "not reachable"'
  expect "keeps it from others" test "$(stat -c '%U %a' /var/lib/netwatch)" = 'netwatch 700'
  expect "has no right of root" has_no_rights "$(id -g netwatch) *"
  expect "stops the log" eval "$2"
  expect "has ended" within eval '! service'
}
END

cat >"$root/root/openrc" <<'END'
. /root/common.sh
# What OpenRC as the first process would make.
mkdir -p /run/openrc/{daemons,exclusive,failed,hotplugged,inactive,options,scheduled,started,starting,stopping,tmp,wasinactive}
touch /run/openrc/softlevel
tries 'rc-service netwatch start' 'rc-service netwatch stop' 'rc-service netwatch reload' /var/log/netwatch.log
keeps_a_log 'rc-service netwatch-log start' 'rc-service netwatch-log stop'
exit "$failed"
END

cat >"$root/root/runit" <<'END'
. /root/common.sh
export SVDIR=/run/service
mkdir "$SVDIR"
runsvdir -P "$SVDIR" >/root/runsvdir 2>&1 &
# start SERVICE: does as its owner does for the first time, after which runsvdir sees it within five seconds; afterwards
# sv starts it.
start() {
  [ -e "$SVDIR/$1" ] || ln -s "/etc/sv/$1" "$SVDIR/"
  within test -e "/etc/sv/$1/supervise/ok" && sv start "$1"
}
tries 'start netwatch' 'sv stop netwatch' 'sv hup netwatch' /var/log/netwatch/current
keeps_a_log 'start netwatch-log' 'sv stop netwatch-log'
exit "$failed"
END

# inside SCRIPT: runs a script with a network, processes and a /run of its own, so that it sees and changes nothing of
# this machine.
inside() {
  # shellcheck disable=SC2016 # For the inner shell.
  unshare --mount --net --pid --fork --kill-child bash -c '
    mount --rbind /dev "$0/dev"
    mount -t sysfs sysfs "$0/sys"
    mount -t proc proc "$0/proc"
    mount -t tmpfs tmpfs "$0/run"
    ip link set lo up
    exec chroot "$0" env -i TERM=dumb LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin bash "$@"
  ' "$root" "$@" >&2
}

say "OpenRC"
inside /root/openrc || failed=1
say "runit"
inside /root/runit || failed=1
