# The header and libnetwatch have every symbol, type and constant that contrib/bindings/c/symbols promises to programs.
#
# Additional symbols are allowed, and are printed. The header is also compiled as C and as C++. NETWATCH_LIBRARY is the
# folder that contrib/bindings/c/build has printed; if it is not set, the library is built.
. "$top/contrib/bindings/c/header.sh"
need_packages gcc g++ libc6-dev binutils
export LC_ALL=C
folder=${NETWATCH_LIBRARY:-}
if [ -z "$folder" ]; then
  quietly "$top/contrib/bindings/c/build"
  folder=$(tail -n 1 "$work/quiet")
fi
promised=$top/contrib/bindings/c/symbols
header=$folder/include/netwatch.h
library=$folder/lib/libnetwatch.so.1
for file in "$header" "$library"; do [ -f "$file" ] || die "there is no $file; contrib/bindings/c/build prints the right folder."; done
fail() { say "netwatch: $*"; failed=1; }

# The names of parameters may change, so they are removed.
without_names() { sed -E 's/\(\*[a-z_]+\)/(*)/g; s/([ *])[a-z_]+([,)])/\1\2/g; s/ +([,)])/\1/g'; }

# The include guard and the macro for visibility are not part of the ABI. The version is expected to change.
macros() { sed -nE 's/^#define (NETWATCH_[A-Z_]+)\>.*/\1/p' "$header" | grep -vxE 'NETWATCH_(H|API)' | sort -u; }

# The compiler prints the values of the constants.
constants() {
  declarations "$header" | sed -n 's/^enum[^{]*{\(.*\)}/\1/p' | grep -oE 'NETWATCH_[A-Z0-9_]+'
  macros | grep -v '^NETWATCH_VERSION_' || true
}
values() {
  {
    printf '#include <netwatch.h>\n#include <stdio.h>\nint main(void) {\n'
    constants | sed 's/.*/printf("constant & = %lld\\n", (long long)&);/'
    echo '}'
  } >"$work/values.c"
  cc -I"$folder/include" "$work/values.c" -o "$work/values" && "$work/values"
}

{
  declarations "$header" >"$work/declarations"
  grep -F '(' "$work/declarations" | without_names | sed 's/^/function /'
  sed -n 's/^typedef/type/p' "$work/declarations"
  values
  macros | sed -n 's/^NETWATCH_VERSION_/macro &/p'
  nm -D --defined-only --with-symbol-versions "$library" | awk '{ print "symbol", $NF }'
  objdump -p "$library" | awk '$1 == "SONAME" { print "soname", $2 }'
} | sort -u >"$work/built"

while read -r line; do
  fail "the build lacks '$line', which contrib/bindings/c/symbols promises: programs that use it would break."
done < <(comm -23 <(sort -u "$promised") "$work/built")

# The library must export exactly the functions that the header declares.
diff <(sed -nE 's/^function .*[ *](netwatch_[a-z_]+)\(.*/\1/p' "$work/built" | sort) \
  <(sed -nE 's/^symbol (netwatch_.*)@@.*/\1/p' "$work/built" | sort) >"$work/difference" || {
  sed -n 's/^< //p' "$work/difference" | while read -r name; do
    say "netwatch: the header has $name(), which the library does not export."
  done
  sed -n 's/^> //p' "$work/difference" | while read -r name; do
    say "netwatch: the library exports $name(), which the header lacks."
  done
  failed=1
}

for language in 'c -std=c11' 'c++ -std=c++17'; do
  # shellcheck disable=SC2086 # Two words.
  echo '#include <netwatch.h>' |
    cc -x $language -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$folder/include" - ||
    fail "the header does not compile as $language."
done

new=$(comm -13 <(sort -u "$promised") "$work/built")
[ -z "$new" ] || {
  say "The build has more than contrib/bindings/c/symbols promises. To promise it, append these lines to that file:"
  printf '%s\n' "$new"
}
