# Packages: tmux
# If a line comes in the second in which tmux has drawn its status line, tmux draws it only when the line comes again,
# 1.1 s later.
tolerance=1200 request=3.5
unset TMUX
outer="tmux -S $WORK/outer -f /dev/null"
inner="tmux -S $WORK/inner -f $WORK/tmux.conf"

# capture-pane never contains the status line, so one tmux runs inside another one.
start() {
  sed 's/ %H:%M//' "$recipe" >tmux.conf
  printf '%s\n' "set -g status-left ''" "set -g window-status-current-format ''" 'set -g status-right-length 120' \
    >>tmux.conf
  TERM=xterm-256color $outer new-session -d -x 120 -y 8 "env -u TMUX $inner new-session cat"
}
see_text() { $outer capture-pane -p 2>>"$WORK/tmux.log" | tail -n 1 | sed 's/^ *//; s/ *$//'; }
see_colours() { $outer capture-pane -pe | tail -n 1; }
end() {
  $inner kill-server 2>/dev/null || true
  $outer kill-server 2>/dev/null || true
  within 5 has_feeders 0 || fail "tmux has ended, and netwatch is still there"
  rm -f outer inner
}
kill_bar() { end_hard "$($inner display-message -p '#{pid}')"; }
life() {
  $inner detach-client
  within 5 outer_is_gone || fail "detached, and its terminal is still there"
  rm -f outer
  TERM=xterm-256color $outer new-session -d -x 120 -y 8 "env -u TMUX $inner attach"
  life_is_as_before "detached and attached"
}
outer_is_gone() { ! $outer has-session 2>/dev/null; }
. "$harness/text.sh"
