# Packages: dwm x11-xserver-utils
region="200 0 600 20"
. "$harness/x11.sh"
# A click would reach dwm's tags and not the text.
takes_clicks=false

reference_line() {
  case $1 in
    online) echo "$online" ;;
    offline) echo "$offline" ;;
    busy) echo "$busy" ;;
  esac
}
# dwm shows all text in one colour, so only the text tells the states apart.
has_colour() { :; }
start() {
  setsid sh -c "$(cat "$recipe")
    exec dwm" >dwm.log 2>&1 &
  process=$!
}
end() { stop "-$process"; }
# netwatch writes to a shell, which notices the end of dwm only when it has something to show.
kill_bar() {
  end_hard "$(pgrep -x dwm)"
  pkill -x Xvfb
  sleep 0.3
  cable out
}
