# Calls libnetwatch at random from four threads under AddressSanitizer, by the rules of its header.
# Five minutes. ARGUMENTS: seconds, otherwise 60, and a seed.
need_packages libc6-dev iproute2 util-linux
library=$("$top/contrib/bindings/c/build" --address | tail -n 1)
# The compiler that comes with Swift has the same sanitizer.
clang -fsanitize=address -std=c11 -Wall -Wextra -pedantic -O1 -g -I"$library/include" "$top/contrib/bindings/c/harness/random.c" \
  -o "$work/random" -pthread -L"$library/lib" -lnetwatch 2>"$work/said" || { cat "$work/said" >&2; die "could not compile random.c."; }
export LD_LIBRARY_PATH=$library/lib
unshare --user --map-root-user --net --mount --pid --fork --mount-proc --kill-child "$work/random" "${1:-60}" ${2:+"$2"} ||
  die "a call from four threads has broken a rule, or AddressSanitizer has found something; see above."
say "  ok      random calls from four threads, ${1:-60} s under AddressSanitizer"
