# Packages: polybar
. "$harness/x11.sh"
obeys=('%{A1:touch pwned:}xxxxxxxxxxxx%{A}')

reference_line() {
  case $1 in
    online) echo "%{F$colour_online}$online%{F-}" ;;
    offline) echo "%{F$colour_offline}$offline%{F-}" ;;
    busy) echo "%{F$colour_online}$busy%{F-}" ;;
  esac
}
start() {
  {
    printf '%s\n' '[bar/test]' 'width = 100%' 'height = 30' 'background = #222222' 'foreground = #dddddd' \
      'font-0 = DejaVu Sans Mono:size=11;2' 'modules-left = netwatch' 'enable-ipc = true'
    cat "$recipe"
  } >config.ini
  polybar -c config.ini test >polybar.log 2>&1 &
  process=$!
}
end() { stop "$process"; }
kill_bar() { end_hard "$process"; }
life() {
  polybar-msg cmd restart >/dev/null
  life_is_as_before restarted
}
