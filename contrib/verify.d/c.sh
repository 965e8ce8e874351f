# Tries libnetwatch in C: the examples see a cable pulled and put back, and netwatch.h keeps its rules.
# Two minutes. ARGUMENT: the folder that contrib/bindings/c/build has printed.
. "$top/contrib/bindings/world.sh"
examples=$top/contrib/bindings/c/examples
flags=(-std=c11 -Wall -Wextra -pedantic -Werror)

# compile NAME FILE PACKAGE...: compiles an example with the flags of these pkg-config packages.
compile() {
  local options
  options=$(pkg-config --cflags --libs "${@:3}")
  # shellcheck disable=SC2086
  cc "${flags[@]}" "$2" -o "$work/$1" -pthread -Wl,--as-needed $options
}

short() { [ "$(wc -l <"$1")" -le 40 ] || { wc -l "$1" && false; }; }

# takes_header COMPILER LANGUAGE: checks that a C or C++ compiler accepts a file that contains only the header.
takes_header() { printf '#include <netwatch.h>\n' | "$1" -x "$2" -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$library/include" -; }

says() { [ "$("${@:2}")" = "$1" ]; }
tells() { "${@:2}" | grep -F -e "$1"; }

# follow NAME FIRST LOST BACK: runs a program, pulls the cable and plugs it in again. Three patterns say which lines are
# expected.
follow() {
  local first=$2 lost=$3 back=$4
  start "$work/$1"
  expect "$1: says the state at once" has "$work/lines" 1 "$first"
  pull
  expect "$1: the cable is pulled" has "$work/lines" 1 "$lost"
  plug-in
  expect "$1: the cable is back" has "$work/lines" 1 "$back"
  expect "$1: has nothing to complain about" test ! -s "$work/errors"
}

if [ "$is_inside" = yes ]; then
  work=$1 library=$2 netwatch=$3
  export LD_LIBRARY_PATH=$library/lib
  make_world "$work"
  timeout 120 "$work/rules" pull plug-in || failed=1

  # A server of the router answers each probe after some time.
  in-router python3 -c 'import socket, time
listener = socket.create_server(("192.168.1.1", 80))
while True:
    connection, _ = listener.accept()
    connection.recv(4096)
    time.sleep(0.5)
    connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    connection.close()' &
  until in-router ss -Hlt src 192.168.1.1:80 | grep -q .; do sleep 0.05; done
  PATH=$PATH:$work/programs timeout 120 "$work/probe" http://192.168.1.1/probe || failed=1
  expect "README: its first example runs" says online "$work/online"
  initial='"event":"initial","reason":"initial",.*"status":"wifi",.*"interface":"enp1s0"'
  lost='"event":"reachability","reason":"no_carrier",.*"status":"not-reachable"'
  back='"event":"reachability","reason":"route_up",.*"status":"wifi"'
  follow poll "$initial" "$lost" "$back"
  kill -TERM "$running"
  expect "poll: ends at SIGTERM" ends "$running" 143
  follow uv "$initial" "$lost" "$back"
  kill -TERM "$running"
  expect "uv: ends at SIGTERM" ends "$running" 143
  follow glib '^online: initial$' '^offline: no_carrier$' '^online: route_up$'
  kill -TERM "$running"
  expect "glib: ends at SIGTERM, by its own hand" ends "$running" 0

  # The reader reads one line and ends.
  mkfifo "$work/reader"
  "$work/poll" no-service >"$work/reader" &
  running=$!
  head -n 1 "$work/reader" >"$work/first"
  expect "poll: ends when its reader is gone" ends "$running" 0
  expect "poll: has told its reader the state" has "$work/first" 1 "$initial"
  expect "poll: knows its options" fails 64 'colour' "$work/poll" colour=red
  start "$work/poll" ignore=enp1s0
  expect "poll: passes its options on" has "$work/lines" 1 '"reason":"no_route"'
  kill -TERM "$running"

  # A service starts, counts the requests of a program, and ends.
  mkdir -m 700 "$work/run"
  export NETWATCH_SOCKET=$work/run/socket
  start "$work/poll"
  expect "service: none is there yet" has "$work/lines" 1 "$initial"
  "$netwatch" serve 2>"$work/served" &
  service=$!
  expect "service: it comes" within_time test -S "$NETWATCH_SOCKET"
  mkfifo "$work/end"
  "$work/request" "upload of a film" <"$work/end" >"$work/begun" &
  exec 4>"$work/end"
  expect "service: a request is counted for all" has "$work/lines" 1 '"reason":"request_began",.*"in_flight":1'
  expect "service: it knows the request's label" tells "upload of a film" "$netwatch" status -v --format text
  kill "$service"
  expect "service: it goes, and its requests" has "$work/lines" 1 '"reason":"service_lost",.*"in_flight":0'
  pull
  expect "service: without one, the cable is seen all the same" has "$work/lines" 1 "$lost"
  plug-in
  exec 4>&-
  kill -TERM "$running"

  timeout 300 "$work/faults" || failed=1
  # This program loads the library itself.
  timeout 120 "$work/manners" "$library/lib/libnetwatch.so.1" >"$work/said" || failed=1
  expect "library: prints nothing" test ! -s "$work/said"
  exit "$failed"
fi

need_packages gcc g++ libc6-dev pkg-config libglib2.0-dev libuv1-dev iproute2 util-linux coreutils python3
need_swift
find_library "$@"
swift build --package-path "$top" --product netwatch >&2
swift build --package-path "$top" --product netwatch-http >&2
netwatch=$(swift build --package-path "$top" --show-bin-path)/netwatch
mkdir "$work/programs"
ln -s "$netwatch-http" "$work/programs"
say "The C library, in $library"
for example in poll glib uv; do expect "$example.c: is short" short "$examples/$example.c"; done
expect "netwatch.h: is C" takes_header cc c
expect "netwatch.h: is C++" takes_header c++ c++
expect "poll.c: compiles" compile poll "$examples/poll.c" netwatch
expect "glib.c: compiles" compile glib "$examples/glib.c" netwatch glib-2.0
expect "uv.c: compiles" compile uv "$examples/uv.c" netwatch libuv
sed -n '/^```c$/,/^```$/{/^```/!p;/^```$/q}' "$top/contrib/bindings/c/README.md" >"$work/online.c"
expect "README: its first example compiles" compile online "$work/online.c" netwatch
for program in rules probe faults request manners; do
  expect "$program.c: compiles" compile "$program" "$top/contrib/bindings/c/harness/$program.c" netwatch
done
in_a_world c "$work" "$library" "$netwatch" || failed=1
