# Tries the examples with a broker, an exporter and a journal of their own.
# Five minutes. ARGUMENTS: names of examples.
examples=$top/contrib/examples
names=(jq prometheus mqtt mqtt-outage journald systemd app eww quickshell vector fluent-bit)

# The exit status of an example that cannot be tried on this machine.
skipped=77

# MARK: The world of an example

# make_world: makes a cable, enp1s0, to a router in a network namespace of its own.
make_world() {
  unshare --net sleep 600 &
  router=$!
  until [ "$(readlink "/proc/$router/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
  ip link set lo up
  on_router ip link set lo up
  ip link add enp1s0 type veth peer name cable netns "$router"
  on_router ip addr add 192.168.1.1/24 dev cable
  plug_in
  ip link set enp1s0 up
  ip addr add 192.168.1.23/24 dev enp1s0
  ip route add default via 192.168.1.1
  until ip -o link show enp1s0 up | grep -q 'state UP'; do sleep 0.05; done
}

on_router() { nsenter --target "$router" --net "$@"; }
plug_in() { on_router ip link set cable up; }
# pull: pulls the cable, and returns when this machine has noticed. The kernel may take a second to report the loss, and
# does not report it if the cable is back by then.
pull() {
  on_router ip link set cable down
  until ip -o link show enp1s0 | grep -q NO-CARRIER; do sleep 0.05; done
}

# expect FILE PATTERN: waits until FILE has a line that matches PATTERN.
expect() {
  local tries=0
  until grep -qE -- "$2" "$1" 2>/dev/null; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { say "no line of $1 is like $2:"; cat "$1" >&2; return 1; }
  done
}

# MARK: The examples

try_jq() {
  netwatch --follow --json | tee lines | "$examples/jq/outages" >outages &
  expect lines '"reason":"initial"'
  pull
  expect lines '"reason":"no_carrier"'
  plug_in
  expect outages '^[0-9T:.-]+Z  [0-9.]+ s  no_carrier$'
}

try_prometheus() {
  local folder
  for folder in prometheus fleet; do
    promtool check rules "$examples/$folder/alerts.yml" >rules.log 2>&1 || { cat rules.log >&2; return 1; }
    promtool test rules "$examples/$folder/alerts-test.yml" >rules.log 2>&1 || { cat rules.log >&2; return 1; }
  done
  # The metrics are checked without a service first, and then with a service, which counts.
  netwatch status --prometheus >alone.prom
  check_metrics alone.prom
  ! grep -q outage alone.prom || { say "netwatch counts outages without a service"; return 1; }
  export NETWATCH_SOCKET=$PWD/service
  netwatch serve &
  until [ -S service ]; do sleep 0.05; done
  mkdir metrics
  "$examples/prometheus/netwatch-textfile" metrics &
  prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory=metrics \
    --web.listen-address=127.0.0.1:9100 2>exporter.log &
  expect metrics/netwatch.prom '^netwatch_reachable 1$'
  expect exporter.log 'Listening on|address='
  scrape >before
  expect before '^netwatch_reachable 1$'
  expect before '^node_textfile_scrape_error 0$'
  pull
  expect metrics/netwatch.prom '^netwatch_reachable 0$'
  scrape >after
  expect after '^netwatch_reachable 0$'
  expect after '^netwatch_unreachable_reason\{reason="no_carrier"\} 1$'
  expect after '^netwatch_outages_total\{reason="no_carrier"\} 1$'
  expect after '^netwatch_outages_total\{reason="no_route"\} 0$'
  plug_in
  expect metrics/netwatch.prom '^netwatch_reachable 1$'
  expect metrics/netwatch.prom '^netwatch_outage_seconds_total [0-9]+\.[0-9]{3}$'
  check_metrics metrics/netwatch.prom
}

# check_metrics FILE: checks metrics with Prometheus' own tool, which may print warnings on standard error.
check_metrics() {
  promtool check metrics <"$1" >metrics.log 2>&1 && [ ! -s metrics.log ] || { cat metrics.log >&2; return 1; }
}

scrape() {
  exec 3<>/dev/tcp/127.0.0.1/9100
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  cat <&3
  exec 3>&-
}

# start_broker: starts a broker on the router, so messages about an outage have to wait for its end.
start_broker() {
  printf 'listener 1883 192.168.1.1\nmax_queued_messages 100000\nallow_anonymous true\nuser %s\n' "$(id -un)" >broker.conf
  on_router mosquitto -c broker.conf 2>broker.log &
  expect broker.log 'running'
}

# subscribe TOPIC FILE: writes what arrives at TOPIC to FILE, with the time of its arrival in seconds.
subscribe() {
  on_router mosquitto_sub -h 192.168.1.1 -i "reader-$2" -t "$1" -q 2 -F '%U %p' >"$2" &
  expect broker.log "as reader-$2 "
}

reasons() { sed 's/.*"reason":"\([a-z_]*\)".*/\1/' "$1" | paste -sd ' '; }
statuses() { sed 's/.*"online":\([a-z]*\).*/\1/' "$1" | paste -sd ' '; }

# in_time FILE MOMENT LIMIT: fails if the last line of FILE came later than LIMIT seconds after MOMENT.
in_time() {
  tail -n 1 "$1" | awk -v moment="$2" -v limit="$3" '{ exit !($1 - moment <= limit) }' ||
    { say "later than $3 s after $2:"; tail -n 1 "$1" >&2; return 1; }
}

# publish OPTION…: tells the broker about this machine, with an identity of its own.
publish() {
  mkdir -p state
  XDG_STATE_HOME=$PWD/state netwatch mqtt mqtt://192.168.1.1 --silence 15 "$@" 2>>publisher.log &
  publisher=$!
}

try_mqtt() {
  start_broker
  subscribe 'netwatch/1/+/line' received
  subscribe 'netwatch/1/+/presence' presence
  publish
  expect received '"reason":"initial"'
  expect presence '"online":true'
  # A machine that has lost its network is offline for the broker within the time limit, and online when the cable is
  # back. What has happened meanwhile comes then.
  local moment
  moment=$(date +%s.%N)
  pull
  expect presence '"absence":"lost"'
  in_time presence "$moment" 15
  plug_in
  expect_last presence '"online":true'
  expect received '"reason":"route_up"'
  [ "$(reasons received)" = "initial no_carrier route_up" ] || { cat received >&2; return 1; }
  # A client that connects later receives the last line.
  on_router mosquitto_sub -h 192.168.1.1 -t 'netwatch/1/+/line' -C 1 >late
  expect late '"reason":"route_up"'
  # A program that dies is offline at once.
  moment=$(date +%s.%N)
  kill -KILL "$publisher"
  expect_last presence '"absence":"lost"'
  in_time presence "$moment" 1
}

# Makes an hour's worth of changes, one for each second, while the broker cannot be reached, and kills the program that keeps them.
# They must arrive in order, even though the cable is pulled again in the meantime.
try_mqtt-outage() {
  local count=3600 changed=0
  start_broker
  subscribe 'netwatch/1/+/line' received
  publish --with=--no-service
  expect received '"reason":"initial"'
  pull
  # A second link leads to another network, in which there is no broker.
  ip link add x0 type veth peer name x1
  ip link set x1 up
  ip link set x0 up
  ip addr add 10.9.0.1/24 dev x0
  ip addr add 10.9.0.2/24 dev x0
  waiting() { wc -l <state/netwatch/mqtt/spool; }
  until [ "$(waiting)" -ge "$count" ]; do
    changed=$((changed + 1))
    ip route replace default via 10.9.0.9 dev x0 src 10.9.0.$((changed % 2 + 1))
    if [ "$(waiting)" -ge $((count / 2)) ] && [ ! -e killed ]; then
      touch killed
      kill -KILL "$publisher"
      publish --with=--no-service
    fi
  done
  [ "$(wc -l <received)" -lt 10 ] || { say "the broker could be reached"; return 1; }
  cp state/netwatch/mqtt/spool kept
  plug_in
  until [ "$(wc -l <received)" -gt $((count / 3)) ]; do sleep 0.02; done
  pull
  say "$(wc -l <received) lines of $(wc -l <kept) have come before the cable was pulled again"
  sleep 5
  plug_in
  local tries=0
  # The same run and the same number are the same line.
  until cut -d ' ' -f 2- received | awk -F '[,:]' '!seen[$4, $6]++' | grep -qxFf <(tail -n 1 kept); do
    sleep 0.5
    tries=$((tries + 1))
    [ $tries -lt 240 ] || { say "the last line has not come"; return 1; }
  done
  cut -d ' ' -f 2- received | awk -F '[,:]' '!seen[$4, $6]++' | grep -xFf kept >arrived
  cmp arrived kept || { say "not the same"; diff arrived kept | cut -c 1-200 | head >&2; return 1; }
  say "$(wc -l <kept) lines of two runs have come in order, $(($(wc -l <received) - $(cut -d ' ' -f 2- received | awk -F '[,:]' '!seen[$4, $6]++' | wc -l))) came twice"
}

# expect_last FILE PATTERN: waits until the last line of FILE matches PATTERN.
expect_last() {
  local tries=0
  until tail -n 1 "$1" 2>/dev/null | grep -qE -- "$2"; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { say "the last line of $1 is not like $2:"; tail -n 3 "$1" >&2; return 1; }
  done
}

try_journald() {
  # A journal of the test's own, in memory.
  mount -t tmpfs tmpfs /run
  mkdir -p /run/systemd /run/log/journal
  printf '%032d\n' 6 >machine-id
  [ -e /etc/machine-id ] || touch /etc/machine-id
  mount --bind machine-id /etc/machine-id
  /lib/systemd/systemd-journald 2>journald.log &
  until [ -S /run/systemd/journal/stdout ]; do sleep 0.05; done
  "$examples/journald/netwatch-journal" &
  expect_in_journal '"reason":"initial"'
  pull
  expect_in_journal '"reason":"no_carrier"'
}

expect_in_journal() {
  local tries=0
  until journalctl -t netwatch -o cat >journal 2>/dev/null && grep -q -- "$1" journal; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { say "the journal has no $1:"; cat journal journald.log >&2; return 1; }
  done
}

try_systemd() {
  cp "$examples"/systemd/*.service "$examples"/recipes/*.{service,timer} .
  local stand_in
  stand_in=$(type -P true)
  sed -Ei "s#^(ExecStart|ExecCondition)=/usr/bin/(netwatch|restic) #\1=$stand_in #" ./*.service
  mkdir -m 700 run
  XDG_RUNTIME_DIR=$PWD/run HOME=$PWD systemd-analyze --user verify --man=no --recursive-errors=no ./*.{service,timer} >said 2>&1 || true
  [ ! -s said ] || { cat said >&2; return 1; }
  # The commands that the units run are also tried.
  netwatch wait --quiet --timeout 30
  netwatch --follow --json --exec 'test "$NETWATCH_EVENT" = reachability && echo "network: $NETWATCH_STATUS" >>notified; true' >lines &
  expect lines '"reason":"initial"'
  pull
  expect notified '^network: not-reachable$'
}

try_app() {
  stdbuf -oL "$APP" >said &
  expect said '^online over enp1s0$'
  expect said '^busy$'
  pull
  expect said '^offline: no_carrier$'
  plug_in
  expect said '^idle$'
}

try_eww() { say "its configuration is for eyes on a screen"; return "$skipped"; }
try_quickshell() { try_eww; }
try_vector() { vector validate --no-environment "$examples/vector/vector.yaml"; }
try_fluent-bit() { fluent-bit --dry-run -c "$examples/fluent-bit/fluent-bit.conf"; }

# MARK: Programs

# needs EXAMPLE: prints the programs that an example needs, each with its Debian package, which is empty if Debian has
# none.
needs() {
  case $1 in
    jq) echo "jq:jq" ;;
    prometheus) echo "prometheus-node-exporter:prometheus-node-exporter promtool:prometheus" ;;
    mqtt) echo "mosquitto:mosquitto mosquitto_sub:mosquitto-clients" ;;
    mqtt-outage) echo "mosquitto:mosquitto mosquitto_sub:mosquitto-clients" ;;
    journald) echo "systemd-cat:systemd journalctl:systemd" ;;
    systemd) echo "systemd-analyze:systemd" ;;
    eww) echo "eww:" ;;
    quickshell) echo "quickshell:" ;;
    vector) echo "vector:" ;;
    fluent-bit) echo "fluent-bit:fluent-bit" ;;
  esac
}

# provide EXAMPLE: installs the programs of an example, or prints which one is not available.
provide() {
  local need packages=()
  for need in $(needs "$1"); do
    command -v "${need%%:*}" >/dev/null && continue
    [ -n "${need#*:}" ] && apt-cache show "${need#*:}" >/dev/null 2>&1 ||
      { say "skipped: $1, for this Debian has no ${need%%:*}"; return 1; }
    packages+=("${need#*:}")
  done
  [ ${#packages[@]} -gt 0 ] || return 0
  unpack "${packages[@]}" || { say "skipped: $1, for apt-get cannot download ${packages[*]}"; return 1; }
}

# unpack PACKAGE…: unpacks Debian's packages, with the libraries that this machine lacks, into a folder.
unpack() {
  say "Unpacking ${*} in $tools"
  mkdir -p "$tools"
  (
    cd "$tools"
    apt-get install -s --no-install-recommends "$@" 2>/dev/null | awk '$1 == "Inst" { print $2 }' |
      xargs apt-get download -qq -o APT::Sandbox::User="$(id -un)"
    for package in *.deb; do dpkg-deb -x "$package" .; done
    rm -f ./*.deb
  ) >&2
}

# MARK: All of them

if [ "$is_inside" = yes ]; then
  cd "$2"
  make_world
  "try_$1"
  exit
fi

wanted=("$@")
[ $# -gt 0 ] || wanted=("${names[@]}")
for name in "${wanted[@]}"; do
  declare -F "try_$name" >/dev/null || die "there is no example '$name'; there are ${names[*]}."
done
need_swift
need_packages $build_packages iproute2 util-linux coreutils
tools=${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/examples
library=$tools/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")
folder=$work
for product in netwatch netwatch-mqtt; do
  swift build --package-path "$top" --product "$product" >&2
  ln -s "$(swift build --package-path "$top" --show-bin-path)/$product" "$folder/$product"
done
export PATH=$folder:$PATH:/usr/sbin:/sbin:$tools/usr/bin:$tools/usr/sbin
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$library NETWATCH_SOCKET=$folder/no-service
as_root=()
[ "$(id -u)" = 0 ] || as_root=(--user --map-root-user)

for name in "${wanted[@]}"; do
  provide "$name" || continue
  if [ "$name" = app ]; then
    say "Building the app"
    swift build --package-path "$examples/app" --scratch-path "$examples/app/.build" >&2
    export APP=$examples/app/.build/debug/NetwatchApp
  fi
  mkdir "$folder/$name"
  status=0
  # Everything that still runs at the end is ended with the namespace of processes.
  unshare "${as_root[@]}" --net --mount --pid --fork --mount-proc --kill-child \
    bash "$top/contrib/verify" --inside examples "$name" "$folder/$name" || status=$?
  case $status in
    0) say "passed:  $name" ;;
    "$skipped") say "skipped: $name" ;;
    *) say "FAILED:  $name"; failed=1 ;;
  esac
done
