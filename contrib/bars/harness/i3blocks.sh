# Packages: i3-wm i3blocks
. "$harness/i3bar.sh"
unset reference_header
reference_line() {
  case $1 in
    online) echo "{\"full_text\":\"$online\",\"color\":\"$colour_online\"}" ;;
    offline) echo "{\"full_text\":\"$offline\",\"color\":\"$colour_offline\"}" ;;
    busy) echo "{\"full_text\":\"$busy\",\"color\":\"$colour_online\"}" ;;
  esac
}
i3_configuration() {
  cp "$recipe" i3blocks.config
  printf '# i3 config file (v4)\nfont pango:DejaVu Sans Mono 11\nbar {\n position top\n id test\n'
  printf ' status_command exec i3blocks -c %s/i3blocks.config\n}\n' "$WORK"
}
# i3blocks notices that i3bar is gone only when it has something to write.
kill_bar() {
  end_hard $(pgrep -x i3bar) "$process"
  sleep 0.3
  cable out
}
