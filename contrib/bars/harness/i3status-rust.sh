# Packages: i3status-rust i3-wm
. "$harness/i3bar.sh"
unset reference_header
reference_line() {
  case $1 in
    online) echo "{\"icon\":\"\",\"state\":\"Good\",\"text\":\"$online\",\"short_text\":\"\"}" ;;
    offline) echo "{\"icon\":\"\",\"state\":\"Critical\",\"text\":\"$offline\",\"short_text\":\"\"}" ;;
    busy) echo "{\"icon\":\"\",\"state\":\"Good\",\"text\":\"$busy\",\"short_text\":\"\"}" ;;
  esac
}
# The colours are those of a theme.
has_colour() { :; }
i3_configuration() {
  cp "$recipe" i3status-rust.toml
  printf '# i3 config file (v4)\nfont pango:DejaVu Sans Mono 11\nbar {\n position top\n id test\n'
  printf ' status_command i3status-rs %s/i3status-rust.toml\n}\n' "$WORK"
}
