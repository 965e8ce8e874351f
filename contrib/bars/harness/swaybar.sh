# Packages: sway grim
region="400,0 400x16"
. "$harness/sway.sh"
reference_header=$'{"version":1}\n['
reference_line() {
  case $1 in
    online) echo "[{\"full_text\":\"$online\",\"color\":\"$colour_online\"}]" ;;
    offline) echo ",[{\"full_text\":\"$offline\",\"color\":\"$colour_offline\"}]" ;;
    busy) echo ",[{\"full_text\":\"$busy\",\"color\":\"$colour_online\"}]" ;;
  esac
}
start() {
  start_sway 'font pango:DejaVu Sans Mono 11' "$(sed 's/^bar {/bar {\n position top\n id test\n font pango:DejaVu Sans Mono 11/' "$recipe")"
}
end() { stop_sway; }
kill_bar() { end_hard "$(pgrep -x swaybar)"; }
life() {
  swaymsg reload >/dev/null
  life_is_as_before reloaded
  swaymsg bar test mode hide >/dev/null
  sleep 0.5
  cable out
  sleep 0.5
  swaymsg bar test mode dock >/dev/null
  within 5 shows offline || fail "hidden, cable out, shown: not '$offline'"
  cable in
  within 5 shows online || fail "shown, cable in: not '$online'"
  passed "hidden and shown"
}
