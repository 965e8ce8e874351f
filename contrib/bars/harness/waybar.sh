# Packages: sway waybar grim
. "$harness/sway.sh"

reference_line() {
  case $1 in
    online) echo "{\"text\":\"$online\",\"class\":\"online\"}" ;;
    offline) echo "{\"text\":\"$offline\",\"class\":\"offline\"}" ;;
    busy) echo "{\"text\":\"$busy\",\"class\":[\"online\",\"busy\"]}" ;;
  esac
}
start() {
  [ -n "${sway:-}" ] || start_sway
  {
    printf '%s\n' '{ "layer": "top", "position": "top", "height": 24, "modules-left": ["custom/netwatch"],'
    sed '/^\/\*/,$d; s/^},$/}/' "$recipe"
    echo '}'
  } >config
  {
    printf '%s\n' '* { font-family: "DejaVu Sans Mono"; font-size: 14px; color: #dddddd; }' \
      'window#waybar { background: #222222; }'
    sed -n '/^\/\*/,$p' "$recipe"
  } >style.css
  waybar -c config -s style.css >waybar.log 2>&1 &
  process=$!
}
end() {
  stop "$process"
  within 5 has_feeders 0 || fail "waybar has ended, and netwatch is still there"
}
kill_bar() { end_hard "$process"; }
life() {
  kill -USR2 "$process"
  sleep 0.5
  life_is_as_before reloaded
}
