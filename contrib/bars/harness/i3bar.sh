# Packages: i3-wm
region="0 0 800 18" crop=400x18+400+0
. "$harness/x11.sh"
reference_header=$'{"version":1}\n['
reference_line() {
  case $1 in
    online) echo "[{\"full_text\":\"$online\",\"color\":\"$colour_online\"}]" ;;
    offline) echo ",[{\"full_text\":\"$offline\",\"color\":\"$colour_offline\"}]" ;;
    busy) echo ",[{\"full_text\":\"$busy\",\"color\":\"$colour_online\"}]" ;;
  esac
}
i3_configuration() {
  printf '# i3 config file (v4)\nfont pango:DejaVu Sans Mono 11\n'
  sed 's/^bar {/bar {\n    position top\n    id test/' "$recipe"
}
start() {
  i3_configuration >i3.config
  i3 -c i3.config >i3.log 2>&1 &
  process=$!
}
end() {
  # i3 may be gone before it can answer.
  i3-msg exit >/dev/null 2>&1 || stop "$process"
  wait "$process" 2>/dev/null || true
}
click() { xdotool mousemove 780 12 click 1 mousemove 740 12 click 1; }
kill_bar() { end_hard $(pgrep -x i3bar) "$process"; }
life() {
  i3-msg bar mode hide test >/dev/null
  sleep 0.5
  cable out
  sleep 0.5
  i3-msg bar mode dock test >/dev/null
  within 5 shows offline || fail "hidden, cable out, shown: not '$offline'"
  cable in
  within 5 shows online || fail "shown, cable in: not '$online'"
  passed "hidden and shown"
  i3-msg reload >/dev/null
  life_is_as_before reloaded
  i3-msg restart >/dev/null
  life_is_as_before restarted
}
