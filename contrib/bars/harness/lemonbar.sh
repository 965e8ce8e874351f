# Packages: lemonbar
. "$harness/x11.sh"
online='* eth7' offline='- not reachable' busy='* eth7 %'
obeys=('%{A1:touch pwned:}xxxxxxxxxxxx%{A}')

reference_line() {
  case $1 in
    online) echo "%{F$colour_online}$online%{F-}" ;;
    offline) echo "%{F$colour_offline}$offline%{F-}" ;;
    busy) echo "%{F$colour_online}${busy/\%/%%}%{F-}" ;;
  esac
}
# The pipe of the recipe, with a bar that needs no window manager and passes clicks to a shell, as many users have it.
start() {
  sed 's/| lemonbar -p &/| lemonbar -p -d -g 800x30 -B "#222222" -F "#dddddd" | sh/' "$recipe" >start.sh
  grep -q -- '-g 800x30' start.sh || fail "the recipe has another pipe"
  setsid sh start.sh >lemonbar.log 2>&1 &
  process=$!
}
end() { stop "-$process"; }
kill_bar() { pkill -9 -x -g "$process" lemonbar; }
