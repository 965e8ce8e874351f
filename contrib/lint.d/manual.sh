# The manual pages have all commands, options, values, fields and functions that there are, and no others.
#
# The pages of the command are made as for a package: their synopses and options come from the table of options. The
# check fails if mandoc reports anything about a page; if an option of a help text is on no page; if netwatch(1) lacks a
# command or is longer than 600 lines; if the pages lack a value or a field; if netwatch-events(5) lacks a word of the
# schema; or if netwatch(3) has other functions, constants, options or fields than netwatch.h, or an example that does
# not compile.
. "$top/contrib/bindings/c/header.sh"
need_packages mandoc bsdextrautils gcc libc6-dev
headers=$top/contrib/bindings/c/Sources/CNetwatch
header=$headers/netwatch.h
quietly swift build --product netwatch
netwatch=$(swift build --show-bin-path)/netwatch
pages=$work/man
mkdir "$pages"
for page in "$top"/contrib/man/netwatch*.[13578]; do
  "$netwatch" --generate-manual <"$page" >"$pages/${page##*/}"
done

# list WORDS: prints the words, sorted, one in each line.
list() { tr -s ' \n,' '\n' <<<"$1" | sed '/^$/d' | sort -u; }

# differences WHAT HELP PAGE: reports words that are only in one of the two lists.
differences() { line_differences "$1" "$(list "$2")" "$(list "$3")"; }

# line_differences WHAT TRUTH PAGE: reports lines that are only in one of the two sorted texts.
line_differences() {
  diff --unchanged-line-format= --old-line-format="$1: the page lacks %L" \
    --new-line-format="$1: only the page has %L" <(echo "$2") <(echo "$3") >&2 || failed=1
}

# missing PAGE WORDS: reports the words that are not on the page.
missing() {
  local said
  said=$(comm -23 <(list "$2") <(mandoc -T utf8 -O width=1000 "$pages/$1" | col -bx | grep -oE '[[:alnum:]_-]+' | sort -u))
  [ -z "$said" ] || { say "$1 lacks" $said; failed=1; }
}

# Two kinds of messages do not count: about manuals that are mentioned, which need not be on this machine, and about the
# length of lines, because the lines of options are whole sentences.
# mandoc writes some messages to standard error, in the middle of others.
said=$({ mandoc -T lint "$pages"/netwatch*.[13578] 2>"$work/errors" || true; cat "$work/errors"; } | grep -v -e 'referenced manual' -e 'mandoc.db' -e 'longer than 80') || true
[ -z "$said" ] || { say "$said"; failed=1; }
length=$(wc -l <"$pages/netwatch.1")
[ "$length" -le 600 ] || { say "netwatch.1 has $length lines, at most 600"; failed=1; }

commands=$("$netwatch" --help-all | awk '/^[A-Z]/ { isList = /^SUBCOMMANDS/ } isList && /^  [a-z]/ { print $1 }')
differences "netwatch(1), commands" "$commands" \
  "$(sed -n '/^\.Sh COMMANDS/,/^\.Sh OPTIONS/s/^\.It Cm //p' "$pages/netwatch.1" | tr -d '\\\\' | sed -E 's/ (O[op]|A[r]) .*//; s/ , /\n/g' | grep -v '^help')"
options=
values=
for command in - $commands; do
  [ "$command" != - ] && arguments=("$command" --help-all) || arguments=(--help-all)
  help=$("$netwatch" "${arguments[@]}")
  options+=" $(sed -nE 's/^  (-[^ ,]+(, -[^ ,]+)*).*/\1/p' <<<"$help" | tr -s ', ' '\n')"
  values+=" $(tr -s ' \n' ' ' <<<"$help" | grep -oE 'Fields: [^.]+' | sed 's/^[^:]*://')" || true
done
differences "The descriptions" "$options --generate-completion-script" \
  "$(sed -nE 's/^\.It Fl (. , )?(-?[a-z-]+).*/\1\2/p' "$pages"/netwatch*.[178] | tr -s ', ' '\n' | grep -v '^-help-all' | sed 's/^/-/')"
missing netwatch-bars.7 "$values"

# The keys and values of the schema, without the names of its parts and without the words of JSON Schema itself.
missing netwatch-events.5 "$(sed -nE '
  /^  "properties"/,$ {
    s/"(description|pattern|\$ref)": "([^"\]|\\.)*"//g
    s/^    "[a-z0-9_]+": \{$//
    p
  }' "$top/contrib/schemas/event.schema.json" | grep -oE '"[a-z][a-z0-9_-]*"' | tr -d '"' | grep -vxE \
  '(any|all)Of|array|boolean|const|else|enum|if|integer|items|m(ax|in)imum|not|null|object|properties|required|string|then|type')"

# in_section NAME: prints a section of netwatch(3), each paragraph in one line.
library_page=$(mandoc -T ascii -O width=1000 "$pages/netwatch.3" | col -bx)
in_section() { sed -n "/^$1\$/,/^[A-Z]/p" <<<"$library_page"; }

# The prototypes are compared, one in each line.
line_differences "netwatch.h" "$(declarations "$header" | grep -F '(' | sort)" "$(
  in_section SYNOPSIS | sed '1d; $d; /#include/d' | tr -s ' \n' ' ' | tr ';' '\n' | sed -E 's/^ *//; /^ *$/d; s/\* /*/' | sort)"
differences "Names of netwatch.h" \
  "$(grep -oE '\<(NETWATCH|netwatch)_[A-Za-z_]+' "$header" | grep -vxE 'NETWATCH_(H|API|DEBUG)')" \
  "$(grep -oE '\<(NETWATCH|netwatch)_[A-Za-z_]+' <<<"$library_page" | grep -vxE 'NETWATCH_(SOCKET|DEBUG)')"
# listed FROM TO: prints the words of the header's comments between two patterns.
listed() { tr -s ' *\n' ' ' <"$header" | sed -E "s/.*$1//; s/$2.*//" | tr -d '"'; }
items() { sed -n "/^\.Sh $1/,/^\.El/s/^\.It Cm //p" "$pages/netwatch.3"; }
differences "Options of netwatch.h" "$(listed 'without the dashes:' '\. An option')" "$(items OPTIONS)"
differences "Fields of netwatch.h" "$(listed 'a field of the state as text:' '\. Booleans')" "$(items 'THE FIELDS')"
in_section 'AN EXAMPLE' | sed -n 's/^ \{11\}//p' | grep -v '^\$ ' |
  cc -x c -std=c11 -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$headers" - || failed=1
