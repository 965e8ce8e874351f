# Packages: dwm x11-xserver-utils
region="200 0 600 20"
. "$harness/x11.sh"
# A click would go to its tags.
takes_clicks=false

reference_line() {
  case $1 in
    online) echo "$online" ;;
    offline) echo "$offline" ;;
    busy) echo "$busy" ;;
  esac
}
# One colour for all: the text has to say it.
has_colour() { :; }
start() {
  setsid sh -c "$(cat "$recipe")
    exec dwm" >dwm.log 2>&1 &
  process=$!
}
end() { stop "-$process"; }
# Its feeder has a shell as reader, which learns of the end when it has something to show.
kill_bar() {
  end_hard "$(pgrep -x dwm)"
  pkill -x Xvfb
  sleep 0.3
  cable out
}
