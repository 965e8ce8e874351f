# Packages: conky-all
# conky runs the command of a recipe now and then, and shows the result at its next update. Here it does so more often,
# so that the check does not take long.
tolerance=900 request=2.5
obeys=('${exec touch pwned}')

reference_line() {
  case $1 in
    online) echo "\${color ${colour_online#?}}$online\${color}" ;;
    offline) echo "\${color ${colour_offline#?}}$offline\${color}" ;;
    busy) echo "\${color ${colour_online#?}}$busy\${color}" ;;
  esac
}
start() {
  {
    printf '%s\n' 'conky.config = { out_to_console = true, out_to_x = false, update_interval = 0.2 }' 'conky.text = [['
    sed '/^--/d; s/execpi 2 /execpi 0.4 /' "$recipe"
    echo ']]'
  } >conky.conf
  conky -c conky.conf >shown 2>conky.log &
  process=$!
}
# Each line of conky's output is one update.
see_text() { grep -v '^$' shown | tail -n 1; }
end() { stop "$process"; }
kill_bar() { end_hard "$process"; }
. "$harness/text.sh"
