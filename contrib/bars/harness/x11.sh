# A screen for the bars of X. The files of these bars source this file.
unset WAYLAND_DISPLAY I3SOCK SWAYSOCK
takes_clicks=true
mkfifo "$WORK/display"
exec 8<>"$WORK/display"
Xvfb -displayfd 8 -screen 0 800x60x24 -nolisten tcp -noreset >"$WORK/xvfb.log" 2>&1 8>&8 &
read -r -t 20 number <&8 || fail "Xvfb does not start"
export DISPLAY=:$number
# The part of the screen that is examined: x, y, width and height.
region=${region:-"0 0 400 30"}

see() {
  # shellcheck disable=SC2086
  set -- "$1" $region
  import -window root -silent "$WORK/screen.png" 2>/dev/null || return 1
  convert "$WORK/screen.png" -crop "${4}x$5+$2+$3" +repage "$WORK/seen.png"
  convert "$WORK/seen.png" -depth 8 "rgb:$1"
}
watch() {
  # shellcheck disable=SC2086
  exec "$TOOLS/pixels" $region
}
click() { xdotool mousemove 20 12 click 1 mousemove 12 14 click 1 mousemove 45 14 click 1; }
has_colour() {
  [ "$(convert "$WORK/reference-$1.png" -depth 8 -fill black +opaque "$2" -fill white -opaque "$2" \
    -format '%[fx:round(mean*w*h)]' info:)" -ge 10 ]
}
