# Functions that the checks of all bars share. The file of a bar defines how the bar is started, examined and ended:
#   start          starts the bar with the recipe, and returns at once
#   see FILE       writes what the bar shows: the same bytes for the same picture or text
#   end            ends the bar as a user would
#   kill_bar       kills the bar
#   life           other events in the life of the bar; optional
# and sets
#   takes_clicks   whether there is a pointer to click with
#   obeys          lines that make the bar touch the file `pwned`. Without them, the attacks would prove nothing
export SHELL=/bin/sh HOME=$WORK XDG_RUNTIME_DIR=$WORK XDG_CONFIG_HOME=$WORK LANG=C.UTF-8 LC_ALL=C.UTF-8
export NETWATCH_SOCKET=$WORK/netwatch.sock
takes_clicks=false
obeys=()
results=()
online='● eth7' offline='○ not reachable' busy='● eth7 ⇅'
# The colours in the templates of the recipes.
colour_online='#56b4e9' colour_offline='#d55e00'
# How late the bar itself may be, in milliseconds. Nothing that it shows is measured more precisely.
tolerance=60
# How long the request runs that lights the activity mark, in seconds.
request=2.6

fail() {
  judged=true
  printf '%-14s FAILED: %s\n' "$bar" "$*"
  tail -n 5 "$WORK"/*.log 2>/dev/null | cut -c 1-300 >&2 || true
  exit 1
}
passed() { results+=("$*"); }
report() {
  judged=true
  printf '%-14s ok: %s\n' "$bar" "$(IFS=';'; sed 's/;/; /g' <<<"${results[*]}")"
}

# within SECONDS COMMAND…: waits until a command succeeds.
within() {
  local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
  shift
  until "$@"; do
    [ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
    sleep 0.05
  done
}

cable() { if [ "$1" = out ]; then ip link set far down; else ip link set far up; fi; }

# stop PROCESS…: ends processes as a user would; the number of a group has a '-' in front. They may have ended already.
stop() {
  kill -- "$@" 2>/dev/null || true
  wait "$process" 2>/dev/null || true
}

# end_hard PROCESS…: kills processes, without a message of the shell.
end_hard() {
  kill -9 "$@"
  wait "${process:-}" 2>/dev/null || true
}

# feeders: prints the processes of netwatch that feed a bar.
feeders() {
  local process
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe" 2>/dev/null)" = "$TOOLS/bin/netwatch" ] || continue
    tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q -- ' --follow ' && echo "${process#/proc/}" || true
  done
}
has_feeders() { [ "$(feeders | wc -l)" = "$1" ]; }

# use_stand_in: replaces netwatch with a program that prints the lines of a file.
use_stand_in() {
  mkdir -p "$WORK/stand-in"
  : >"$WORK/lines"
  printf '#!/bin/sh\nexec tail -n +1 -f %s\n' "$WORK/lines" >"$WORK/stand-in/netwatch"
  chmod 755 "$WORK/stand-in/netwatch"
  PATH=$WORK/stand-in:$PATH
}
# put_in_front OPTIONS: adds OPTIONS to each call of netwatch. A space at the end of a template would not be visible, so
# the templates end with another character.
put_in_front() {
  mkdir -p "$WORK/stand-in"
  printf '#!/bin/sh\nexec %s/bin/netwatch "$@" %s\n' "$TOOLS" "$1" >"$WORK/stand-in/netwatch"
  chmod 755 "$WORK/stand-in/netwatch"
  PATH=$WORK/stand-in:$PATH
}
use_netwatch() { PATH=${PATH#"$WORK/stand-in:"}; }

start_service() {
  netwatch serve 2>"$WORK/service.log" &
  service=$!
  within 5 test -S "$NETWATCH_SOCKET" || fail "no service: $(cat "$WORK/service.log")"
}
stop_service() {
  kill "$service"
  wait "$service" 2>/dev/null || true
}

# see_something_new FILE: succeeds if the bar shows something else than FILE, and still shows it a moment later.
see_something_new() {
  see "$WORK/seen" && ! cmp -s "$WORK/seen" "$1" || return 1
  sleep 0.3
  see "$WORK/again" && cmp -s "$WORK/seen" "$WORK/again"
}
# sees_reference STATE: the bar may still be starting, so its colour shows that it has started.
sees_reference() {
  see_something_new "$WORK/before" || return 1
  keep_picture "reference-$1"
  case $1 in
    offline) has_colour "$1" "$colour_offline" ;;
    *) has_colour "$1" "$colour_online" ;;
  esac
}
shows() { see "$WORK/seen" && cmp -s "$WORK/seen" "$WORK/$1.reference"; }
keep_picture() { if [ -f "$WORK/seen.png" ]; then cp "$WORK/seen.png" "$WORK/$1.png"; fi; }

# make_references: keeps what the bar shows for lines that were written by hand.
make_references() {
  use_stand_in
  [ -z "${reference_header:-}" ] || printf '%s\n' "$reference_header" >>"$WORK/lines"
  start
  : >"$WORK/before"
  within 10 see "$WORK/before" || fail "it does not come up"
  local state
  for state in online offline busy; do
    reference_line "$state" >>"$WORK/lines"
    within 10 sees_reference "$state" || fail "the reference line for $state does not show, or without its colour"
    cp "$WORK/seen" "$WORK/before"
    cp "$WORK/seen" "$WORK/$state.reference"
  done
  local line
  for line in "${obeys[@]}"; do
    rm -f "$WORK/pwned"
    printf '%s\n' "$line" >>"$WORK/lines"
    within 10 is_obeyed || fail "the bar should obey $line, and does not: the attacks prove nothing"
  done
  rm -f "$WORK/pwned"
  end
  use_netwatch
}
is_obeyed() {
  ! $takes_clicks || click
  [ -e "$WORK/pwned" ]
}

check_shows() {
  make_references
  start_service
  start
  within 10 shows online || fail "the start: not '$online'"
  keep_picture online
  cable out
  within 5 shows offline || fail "the cable is out: not '$offline'"
  keep_picture offline
  cable in
  within 5 shows online || fail "the cable is back: not '$online'"
  passed "text and colour at the start, cable out, cable in"
}

# Times in the log of `watch`, which contains each picture and the time since which it is shown, in microseconds.
first_seen() { awk -v since="$2" -v what="$1" '$1 >= since && $2 == what { print $1; exit }' "$WORK/watch.log"; }
last_hash() { tail -n 1 "$WORK/watch.log" | cut -d ' ' -f 2; }

check_activity() {
  local round shown=() hidden=() idle_hash begun ended busy_hash at
  watch >"$WORK/watch.log" 2>"$WORK/watch.error.log" &
  local watcher=$!
  within 5 test -s "$WORK/watch.log" || fail "nothing can be watched: $(cat "$WORK/watch.error.log")"
  for round in 1 2 3; do
    sleep 0.5
    idle_hash=$(last_hash)
    netwatch run -- bash -c 'echo ${EPOCHREALTIME/./} >begun; sleep $1; echo ${EPOCHREALTIME/./} >ended' bash "$request" &
    local process_of_request=$!
    within 5 shows busy || fail "a request runs: not '$busy'"
    [ "$round" -gt 1 ] || keep_picture busy
    # The watcher may be late by one picture.
    sleep 0.2
    busy_hash=$(last_hash)
    wait "$process_of_request"
    within 5 shows online || fail "the request is over: not '$online'"
    sleep 0.1
    begun=$(cat "$WORK/begun") ended=$(cat "$WORK/ended")
    at=$(first_seen "$busy_hash" "$begun")
    shown+=($(((at - begun) / 1000)))
    at=$(first_seen "$idle_hash" "$ended")
    hidden+=($(((at - ended) / 1000)))
  done
  kill "$watcher"
  wait "$watcher" 2>/dev/null || true
  judge_delay shown 1000 "${shown[@]}"
  judge_delay hidden 170 "${hidden[@]}"
}

# judge_delay WHAT TARGET MILLISECONDS…: compares the median of the times with the target.
judge_delay() {
  local what=$1 target=$2 middle
  shift 2
  middle=$(printf '%s\n' "$@" | sort -n | sed -n 2p)
  [ "$middle" -ge $((target - 60)) ] && [ "$middle" -le $((target + tolerance)) ] ||
    fail "activity is $what after $* ms, not $target"
  passed "$what after $* ms"
}

# extent: prints where the bar's text begins, and how wide it is.
extent() {
  see "$WORK/seen" || return 1
  if declare -F see_text >/dev/null; then
    local text
    text=$(see_text)
    echo "${#text}"
  else
    local picture=$WORK/seen.png
    [ -f "$picture" ] || picture=$WORK/seen.ppm
    # Another element, such as the button of a workspace, may be on the left.
    convert "$picture" ${crop:+-crop "$crop" +repage} -format '%@' info: | sed -E 's/^([0-9]+)x[0-9]+(\+[0-9]+).*/\1\2/'
  fi
}
rests() { see "$WORK/seen" && cmp -s "$WORK/seen" "$WORK/rest"; }
does_not_rest() { see "$WORK/seen" && ! cmp -s "$WORK/seen" "$WORK/rest"; }

# Checks the recipe with --traffic: rates appear and disappear with the traffic on the cable, and the text does not
# become wider.
check_traffic() {
  grep -q -- --follow "$recipe" || return 0
  end
  local plain=$recipe extents
  recipe=$WORK/traffic-recipe
  "$TOOLS/bin/netwatch" snippet "$bar" --traffic --traffic-interval 0.5 >"$recipe"
  put_in_front '--template "|{traffic}|"'
  ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:01 dev eth7 nud permanent
  start
  : >"$WORK/rest"
  within 10 has_feeders 1 || fail "with --traffic: no feeder"
  sleep 3
  see "$WORK/rest" || fail "with --traffic: it does not come up"
  keep_picture rest
  extents=$(extent)
  while :; do
    head -c $((RANDOM / 2)) /dev/zero >/dev/udp/10.0.0.2/9
    sleep 0.05
  done 2>/dev/null &
  local traffic=$!
  within 3 does_not_rest || fail "there is traffic, and it is not shown"
  keep_picture traffic
  for _ in 1 2 3 4 5 6 7 8; do
    sleep 0.4
    extents+=$'\n'$(extent)
  done
  kill "$traffic"
  wait "$traffic" 2>/dev/null || true
  within 4 rests || fail "the traffic is over, and still shown"
  [ "$(sort -u <<<"$extents" | wc -l)" = 1 ] || fail "rates move what stands there: $(sort <<<"$extents" | uniq -c | tr -s '\n ' ' ')"
  end
  ip neigh del 10.0.0.2 dev eth7
  recipe=$plain
  use_netwatch
  start
  within 10 shows online || fail "without --traffic again: not '$online'"
  passed "rates come and go, as wide"
}

# tell_figures SIGNAL TIME LOSS: makes the service report these figures.
tell_figures() {
  tell wifi 6e "$1" ''
  tell quality 6e "$1" \
    ",\"quality\":{\"interface\":\"wlan0\",\"rtt_ms\":$2,\"loss_percent\":$3,\"connections\":9}"
}

# Checks the recipe with fields of figures, which a service reports: the narrowest and the widest values of each field,
# and unknown values.
check_figures() {
  grep -q -- --follow "$recipe" || return 0
  end
  stop_service
  rm -f "$NETWATCH_SOCKET"
  put_in_front '--template "|{signal} {rtt} {loss}|"'
  start_liar
  tell reachability 6e -50 ''
  start
  within 10 has_feeders 1 || fail "with figures: no feeder"
  sleep 3
  see "$WORK/before" || fail "with figures: it does not come up"
  local figures extents
  extents=$(extent)
  for figures in '-96 0.4 0.0' '-64 9.9 9.9' '-63 10.0 10.0' '-51 234.5 0.3' '-50 9999.0 100.0'; do
    # shellcheck disable=SC2086
    tell_figures $figures
    within 3 see_something_new "$WORK/before" || fail "figures are told, and not shown: $figures"
    cp "$WORK/seen" "$WORK/before"
    keep_picture "figures-${figures// /_}"
    extents+=$'\n'$(extent)
  done
  [ "$(sort -u <<<"$extents" | wc -l)" = 1 ] ||
    fail "figures move what stands there: $(sort <<<"$extents" | uniq -c | tr -s '\n ' ' ')"
  end
  stop_liar
  use_netwatch
  start_service
  start
  within 10 shows online || fail "without figures again: not '$online'"
  passed "figures as wide"
}

# Names that bars have obeyed, of at most 32 bytes each. A command in a name would leave its file in the bar's folder.
attacks=(
  '%{A1:touch pwned:}x%{A}' '%%{A1:touch pwned:}x%%{A}' '%%%{A:touch pwned:}y%{A}' '%{F#ff0000}red'
  '${exec touch pwned}' '$${exec touch pwned}' '\${exec touch pwned}' '$nodename # comment' '\# \\# #x'
  '<action=`touch pwned`>x</action>' '<fc=#ff0000>x</fc>' '<raw=3:x/>' '#(touch pwned)' '##(touch pwned)' '#[fg=red]##[x'
  '#{pane_id}#H' '####' '<b>bold' '</span>' '&amp;&' '","class":"online","x":"' '"}' '\u0022\"' $'\x05{r}%H:%M'
  $'\x1b[31m\x1b]0;x\x07' $'a\nb' $'a\rb\tc' $'\xff\xfe\xc3(' $'\xe2\x80\xaedrow' '%' '{' 'x%' "'" '`touch pwned`;touch pwned'
)

# start_liar: starts a service that reports the name which `tell_name` writes.
start_liar() {
  : >"$WORK/told"
  setsid socat "UNIX-LISTEN:$NETWATCH_SOCKET,fork" "SYSTEM:exec tail -n 1 -f $WORK/told" 2>"$WORK/liar.log" &
  liar=$!
  within 5 test -S "$NETWATCH_SOCKET" || fail "no liar"
}
stop_liar() {
  # The group contains the processes that it has started for its clients.
  kill -- "-$liar"
  wait "$liar" 2>/dev/null || true
  rm -f "$NETWATCH_SOCKET"
}
hex() { od -An -v -tx1 | tr -d ' \n'; }
told=0
# tell EVENT NAME SIGNAL REST: writes a state with the name of a network in hexadecimal digits, its signal, and more
# keys.
tell() {
  told=$((told + 1))
  printf '{"v":1,"seq":%s,"time":"2026-01-01T00:00:00.000000Z","mono_ns":1,"event":"%s","reason":"network_changed","reachability":{"status":"wifi","medium":"wifi","interface":"wlan0","index":9,"expensive":false,"vpn":null,"ipv4":{"address":"10.0.0.1","gateway":null},"ipv6":null,"wifi":{"ssid":"","ssid_hex":"%s","signal_dbm":%s,"signal_percent":null}},"activity":{"state":"inactive","visible":false,"in_flight":0}%s}\n' \
    "$told" "$@" >>"$WORK/told"
}
tell_name() { tell reachability "$(printf '%s' "$1" | hex)" null ''; }

check_attacks() {
  end
  stop_service
  rm -f "$NETWATCH_SOCKET" "$WORK/pwned"
  start_liar
  tell_name start
  start
  within 10 shows_name start || fail "no name is shown"
  local attack
  for attack in "${attacks[@]}"; do
    see "$WORK/before" || true
    tell_name "$attack"
    within 6 shows_name "$attack" || fail "the name $(printf %q "$attack") is not shown"
    if $takes_clicks; then click; fi
    [ ! -e "$WORK/pwned" ] || fail "the name $(printf %q "$attack") has run a command"
  done
  sleep 0.3
  [ ! -e "$WORK/pwned" ] || fail "a name has run a command"
  keep_picture attacked
  stop_liar
  start_service
  # The followers change over to the other service, and the false names disappear.
  within 10 shows online || fail "the liar is gone: not '$online'"
  passed "${#attacks[@]} names obeyed by nothing"
}
# For pictures, this checks only that the picture has changed. A bar that cannot read a line keeps its last picture.
shows_name() { see "$WORK/seen" && ! cmp -s "$WORK/seen" "$WORK/before"; }

check_life() {
  if declare -F life >/dev/null; then life; fi
  kill_bar
  within 5 has_feeders 0 || fail "killed, and netwatch is still there: $(feeders)"
  passed "killed, no orphan"
}
life_is_as_before() {
  within 10 shows online || fail "$1: not '$online'"
  within 5 has_feeders 1 || fail "$1: $(feeders | wc -l) feeders"
  cable out
  within 5 shows offline || fail "$1, cable out: not '$offline'"
  cable in
  within 5 shows online || fail "$1, cable in: not '$online'"
  passed "$1"
}
