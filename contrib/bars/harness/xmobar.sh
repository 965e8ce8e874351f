# Packages: xmobar dbus
. "$harness/x11.sh"
obeys=('<action=`touch pwned`>xxxxxxxxxxxx</action>')

reference_line() {
  case $1 in
    online) echo "<fc=$colour_online>$online</fc>" ;;
    offline) echo "<fc=$colour_offline>$offline</fc>" ;;
    busy) echo "<fc=$colour_online>$busy</fc>" ;;
  esac
}
start() {
  cat >xmobarrc <<C
Config { font = "DejaVu Sans Mono 11", bgColor = "#222222", fgColor = "#dddddd"
, position = Static { xpos = 0, ypos = 0, width = 800, height = 30 }
, commands = [ $(grep -v '^--' "$recipe") ], sepChar = "%", alignSep = "}{", template = "%netwatch% }{ " }
C
  setsid dbus-run-session -- xmobar xmobarrc >xmobar.log 2>&1 &
  process=$!
}
end() { stop "-$process"; }
kill_bar() { pkill -9 -x -g "$process" xmobar; }
