# Shared by contrib/lint abi and contrib/lint manual. Source this file.

# declarations HEADER: prints each declaration of a header in one line, without comments, attributes and the final
# semicolon.
declarations() {
  cc -E "$1" | awk -v name="/${1##*/}\"" '/^# [0-9]/ { isOwn = index($0, name); next } isOwn' | tr -s ' \n' ' ' | tr ';' '\n' |
    sed -E 's/__attribute__ *\(\([a-z]*(\([^)]*\))?\)\) *//; s/^ *//; s/ *$//; /^$/d'
}
