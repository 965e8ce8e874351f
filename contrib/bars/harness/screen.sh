# Packages: screen tmux
# As root
unset TMUX
export SCREENDIR=$WORK/screens
mkdir -m 700 "$SCREENDIR"
outer="tmux -S $WORK/outer -f /dev/null"
colour_online='' colour_offline=''

start() {
  { printf 'startup_message off\ndefutf8 on\n'; cat "$recipe"; } >screenrc
  TERM=xterm-256color $outer new-session -d -x 120 -y 8 \
    "env -u TMUX TERM=screen-256color screen -U -c $WORK/screenrc -S test cat"
}
see_text() { $outer capture-pane -p 2>>"$WORK/tmux.log" | tail -n 1 | sed 's/ *$//'; }
end() {
  screen -S test -X quit >/dev/null 2>&1 || true
  $outer kill-server 2>/dev/null || true
  within 5 has_feeders 0 || fail "screen has ended, and netwatch is still there"
}
kill_bar() { pkill -9 -x screen; }
. "$harness/text.sh"
