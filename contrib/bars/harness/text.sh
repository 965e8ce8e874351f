# Functions for bars whose text can be read. The files of these bars source this file.
has_text() { [ "$(see_text)" = "$1" ]; }
see() { see_text >"$1"; }
shows() {
  local state=$1
  has_text "${!state}"
}
has_colour() { :; }
# The text itself is compared, so no pictures of lines that were written by hand are needed. The colour is only checked
# in bars that have one.
make_references() { :; }
watch() {
  local last='' text
  while :; do
    text=$(see_text | sha1sum | cut -c 1-16)
    [ "$text" = "$last" ] || echo "${EPOCHREALTIME/./} $text"
    last=$text
    sleep 0.005
  done
}
# shown_name NAME: prints what is left of a name: UTF-8 without control characters and without characters that change
# the direction of text.
shown_name() {
  printf '%s' "$1" | python3 -c '
import sys, unicodedata
text = sys.stdin.buffer.read().decode("utf-8", "replace")
print("".join(c for c in text if unicodedata.category(c) != "Cc" and c not in "\u202a\u202b\u202c\u202d\u202e"))'
}
shows_name() { has_text "● $(shown_name "$1")"; }
