# The manual pages have all commands, options, values, fields and functions that there are, and no others.
#
# Fails if mandoc has anything to say of the pages; if a command, an option or a value that `netwatch --help-all` or that of a
# command prints is not in netwatch(1), or the other way round; if netwatch-events(5) lacks a word of the schema; or if netwatch(3)
# has other functions, constants, options or fields than netwatch.h, or an example that does not compile.
. "$top/contrib/bindings/c/header.sh"
need_packages mandoc bsdextrautils gcc libc6-dev
pages=$top/contrib/man
headers=$top/contrib/bindings/c/Sources/CNetwatch
header=$headers/netwatch.h
quietly swift build --product netwatch
netwatch=$(swift build --show-bin-path)/netwatch

# One line for each word.
list() { tr -s ' \n,' '\n' <<<"$1" | sed '/^$/d' | sort -u; }

# differences WHAT HELP PAGE: words that are in one of them alone.
differences() { line_differences "$1" "$(list "$2")" "$(list "$3")"; }

# line_differences WHAT TRUTH PAGE: sorted lines that are in one of them alone.
line_differences() {
  diff --unchanged-line-format= --old-line-format="$1: the page lacks %L" \
    --new-line-format="$1: only the page has %L" <(echo "$2") <(echo "$3") >&2 || failed=1
}

# missing PAGE WORDS: those that the page has not got.
missing() {
  local said
  said=$(comm -23 <(list "$2") <(mandoc -T utf8 -O width=1000 "$pages/$1" | col -bx | grep -oE '[[:alnum:]_-]+' | sort -u))
  [ -z "$said" ] || { say "$1 lacks" $said; failed=1; }
}

# Not what it says of manuals that are mentioned: they need not be on this machine.
said=$(mandoc -T lint "$pages"/netwatch*.[135] 2>&1 | grep -v -e 'referenced manual' -e 'mandoc.db') || true
[ -z "$said" ] || { say "$said"; failed=1; }

# The synopsis, a line for each command: its name, or - for netwatch itself, and its options.
synopsis=$(mandoc -T ascii -O width=1000 "$pages/netwatch.1" | col -bx | awk '
  /^[A-Z]/ { isSynopsis = $1 == "SYNOPSIS" }
  isSynopsis && $1 == "netwatch" {
    line = $2 ~ /^[a-z]/ ? $2 : "-"
    while (match($0, /[[ ]--?[A-Za-z][a-z-]*/)) {
      line = line " " substr($0, RSTART + 1, RLENGTH - 1)
      $0 = substr($0, RSTART + RLENGTH)
    }
    print line
  }')
in_synopsis() { awk -v command="$1" '$1 == command { $1 = ""; print }' <<<"$synopsis"; }

commands=$("$netwatch" --help-all | awk '/^[A-Z]/ { isList = /^SUBCOMMANDS/ } isList && /^  [a-z]/ { print $1 }')
differences netwatch "$commands" "$(awk '$1 != "-" { print $1 }' <<<"$synopsis")"

options=
values=
for command in - $commands; do
  [ "$command" != - ] && arguments=("$command" --help-all) || arguments=(--help-all)
  help=$("$netwatch" "${arguments[@]}")
  these=$(sed -nE 's/^  (-[^ ,]+(, -[^ ,]+)*).*/\1/p' <<<"$help" | tr -s ', ' '\n')
  # The page has these once, for all commands.
  [ "$command" = - ] || these=$(grep -vxE -e '-h|--help|--version' <<<"$these") || true
  differences "netwatch ${arguments[0]#--help-all}" "$these" "$(in_synopsis "$command")"
  options+=" $these"
  values+=" $(tr -s ' \n' ' ' <<<"$help" | grep -oE '\(values: [^;)]+|Fields: [^.]+' | sed 's/^[^:]*://')" || true
done
differences "The descriptions" "$options" \
  "$(sed -nE 's/^\.It Fl (. , )?(-?[a-z-]+).*/\1\2/p' "$pages/netwatch.1" | tr -s ', ' '\n' | sed 's/^/-/')"
missing netwatch.1 "$values"

# The schema's keys and values, without the names of its parts and the words of JSON Schema itself.
missing netwatch-events.5 "$(sed -nE '
  /^  "properties"/,$ {
    s/"(description|pattern|\$ref)": "([^"\]|\\.)*"//g
    s/^    "[a-z0-9_]+": \{$//
    p
  }' "$top/contrib/schemas/event.schema.json" | grep -oE '"[a-z][a-z0-9_-]*"' | tr -d '"' | grep -vxE \
  '(any|all)Of|array|boolean|const|else|enum|if|integer|items|m(ax|in)imum|not|null|object|properties|required|string|then|type')"

# What stands in the section of netwatch(3), each paragraph in one line.
library_page=$(mandoc -T ascii -O width=1000 "$pages/netwatch.3" | col -bx)
in_section() { sed -n "/^$1\$/,/^[A-Z]/p" <<<"$library_page"; }

# Prototypes, one a line.
line_differences "netwatch.h" "$(declarations "$header" | grep -F '(' | sort)" "$(
  in_section SYNOPSIS | sed '1d; $d; /#include/d' | tr -s ' \n' ' ' | tr ';' '\n' | sed -E 's/^ *//; /^ *$/d; s/\* /*/' | sort)"
differences "Names of netwatch.h" \
  "$(grep -oE '\<(NETWATCH|netwatch)_[A-Za-z_]+' "$header" | grep -vxE 'NETWATCH_(H|API|DEBUG)')" \
  "$(grep -oE '\<(NETWATCH|netwatch)_[A-Za-z_]+' <<<"$library_page" | grep -vxE 'NETWATCH_(SOCKET|DEBUG)')"
# listed FROM TO: the words of the header's comment between two words.
listed() { tr -s ' *\n' ' ' <"$header" | sed -E "s/.*$1//; s/$2.*//" | tr -d '"'; }
items() { sed -n "/^\.Sh $1/,/^\.El/s/^\.It Cm //p" "$pages/netwatch.3"; }
differences "Options of netwatch.h" "$(listed 'without the dashes:' '\. An option')" "$(items OPTIONS)"
differences "Fields of netwatch.h" "$(listed 'a field of the state as text:' '\. Booleans')" "$(items 'THE FIELDS')"
in_section 'AN EXAMPLE' | sed -n 's/^ \{11\}//p' | grep -v '^\$ ' |
  cc -x c -std=c11 -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$headers" - || failed=1
