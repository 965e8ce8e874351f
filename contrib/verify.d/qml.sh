# Tries the QML module in Qt's own engine, without a screen: cables, VPNs, login pages, requests and figures.
# A minute; without ARGUMENT five, as root, and 100 MB. ARGUMENT: short, not also on a fresh Debian with the package.
. "$top/contrib/bindings/world.sh"
here=$top/contrib/bindings/qml

# follow OPTION…: starts follow.qml in Qt's engine. Each of its lines begins with Qt's name for its category.
follow() { start "$engine" "$here/harness/follow.qml" -- "$@"; }
# says SIGNAL VALUE [COUNT]: waits until the monitor has said this so many times. VALUE is a pattern.
says() { has "$work/errors" "${3:-1}" "^qml: $1 $2\$"; }
path() { says path "$@"; }

if [ "$is_inside" = yes ]; then
  work=$1 library=$2 netwatch=$3 engine=$4 modules=$5
  export LD_LIBRARY_PATH=$library/lib QML2_IMPORT_PATH=$modules QT_QPA_PLATFORM=offscreen XDG_RUNTIME_DIR=$work/qt
  mkdir -m 700 "$work/qt"
  PATH=$PATH:$work/programs
  make_world "$work"
  online='\[true,"initial","virtual","enp1s0",null,false,true\]'
  back='\[true,"route_up","virtual","enp1s0",null,false,true\]'
  lost='\[false,"no_carrier",null,null,null,null,false\]'

  follow no-service stages traffic traffic-interval=0.1
  expect "the first state" path "$online"
  expect "a description" says description '"virtual enp1s0, 192.168.1.23"'
  expect "no stage fails" says stages null
  expect "traffic" within_time grep -q '^qml: traffic "enp1s0"' "$work/errors"
  pull
  expect "a pulled cable" path "$lost"
  expect "its stage" says stages '"link"'
  plug-in
  expect "the cable is back" path "$back"
  ip link set enp1s0 down
  expect "a link that is switched off" path '\[false,"link_down",null,null,null,null,false\]'
  ip link set enp1s0 up
  ip route add default via 192.168.1.1
  expect "it is switched on" path "$back" 2
  ip addr del 192.168.1.23/24 dev enp1s0
  expect "no address" path '\[false,"no_address",null,null,null,null,false\]'
  ip -6 addr add fd00::23/64 dev enp1s0 nodad
  ip -6 route add default via fd00::1
  expect "IPv6 alone" path "$back" 3
  # As NetworkManager makes it on the link itself.
  ip addr add 192.0.0.1/32 dev enp1s0
  ip route add default src 192.0.0.1 via inet6 fd00::1 dev enp1s0
  described() { grep '^qml: description' "$work/errors" | tail -n 1 | grep -q '192\.0\.0\.1'; }
  not_described() { ! described; }
  expect "IPv4 that this machine translates" within_time described
  ip addr del 192.0.0.1/32 dev enp1s0
  expect "IPv6 alone again" within_time not_described
  ip addr add 192.168.1.23/24 dev enp1s0
  ip route add default via 192.168.1.1
  # The translated address came and went with the same reason.
  expect "both" path '\[true,"address_changed","virtual","enp1s0",null,false,true\]' 3
  ip link add vpn0 type vxlan id 5 remote 192.168.1.1 dstport 4789
  ip addr add 10.8.0.2/24 dev vpn0
  ip link set vpn0 up
  ip route add 0.0.0.0/1 dev vpn0
  ip route add 128.0.0.0/1 dev vpn0
  expect "a VPN, over the cable" within_time grep -q '^qml: path \[true,.*"virtual","enp1s0","vpn0",' "$work/errors"
  ip -6 route del default
  pull
  expect "a VPN without its uplink" path "$lost" 2
  ip link del vpn0
  plug-in
  expect "the cable alone" path "$back" 4
  ip link add w0 type veth peer name w1
  ip link set w1 up
  ip link set w0 up
  ip addr add 10.1.0.1/24 dev w0
  ip route add default via 10.1.0.2 metric 9
  ip link set enp1s0 down
  expect "another uplink takes over" within_time grep -q '^qml: path \[true,.*"virtual","w0",null,' "$work/errors"
  expect "has nothing to complain about" test "$(grep -cv '^qml: ' "$work/errors")" = 0
  kill "$running"
  ip link del w0
  ip link set enp1s0 up
  ip addr replace 192.168.1.23/24 dev enp1s0
  ip route replace default via 192.168.1.1

  follow no-service expensive=enp1s0
  expect "a network that costs money" path '\[true,"initial","virtual","enp1s0",null,true,false\]'
  kill "$running"
  follow no-service target=192.168.1.7 interface='wl*'
  expect "an interface that does not count" path '\[false,"no_route",null,null,null,null,false\]'
  kill "$running"
  follow colour=red
  expect "a wrong option is an error" says error "\"there is no option 'colour'.\""
  kill "$running"

  start "$engine" "$here/harness/example.qml"
  expect "the example for Quickshell" says text 'enp1s0 #56b4e9'
  pull
  expect "the example for Quickshell, without a network" says text 'offline #d55e00'
  plug-in
  kill "$running"

  # A login page, and then the internet.
  in-router python3 -c 'import os, socket, sys
listener = socket.create_server(("192.168.1.1", 80))
while True:
    connection, _ = listener.accept()
    connection.recv(4096)
    answer = b"204 No Content" if os.path.exists(sys.argv[1]) else b"302 Found\r\nLocation: http://192.168.1.1/login"
    connection.sendall(b"HTTP/1.1 " + answer + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    connection.close()' "$work/let-through" &
  until in-router ss -Hlt src 192.168.1.1:80 | grep -q .; do sleep 0.05; done
  follow no-service probe=http://192.168.1.1/ probe-interval=0.2 quality
  expect "a login page" says access '"portal"'
  touch "$work/let-through"
  expect "the internet" says access '"full"'
  expect "has nothing to complain about" test "$(grep -cv '^qml: ' "$work/errors")" = 0
  kill "$running"

  # A service counts the requests of all programs.
  mkdir -m 700 "$work/run"
  export NETWATCH_SOCKET=$work/run/socket
  "$netwatch" serve 2>"$work/served" &
  within_time test -S "$NETWATCH_SOCKET"
  follow
  expect "nothing is in flight" says activity '\[false,0\]'
  "$netwatch" run -- sleep 3 &
  expect "a request" says activity '\[false,1\]'
  expect "the indicator" says activity '\[true,1\]'
  expect "the request has ended" says activity '\[true,0\]'
  expect "the indicator has gone" says activity '\[false,0\]' 2
  kill "$running"
  exit "$failed"
fi

need_packages $build_packages g++ pkg-config qt6-base-dev qt6-declarative-dev qml-qt6 qml6-module-qtquick qml6-module-qtquick-window \
  qml6-module-qtqml qml6-module-qtqml-models qml6-module-qtqml-workerscript iproute2 util-linux python3
need_swift
find_library
modules=$("$top/contrib/bindings/qml/build" "$library" | tail -n 1)
engine=$(pkg-config --variable=bindir Qt6Core)/qml
for product in netwatch netwatch-http; do swift build --package-path "$top" --product $product >&2; done
netwatch=$(swift build --package-path "$top" --show-bin-path)/netwatch
mkdir "$work/programs"
ln -s "$netwatch-http" "$work/programs"
say "The module, in $modules"
in_a_world qml "$work" "$library" "$netwatch" "$engine" "$modules" || failed=1
[ "${1:-}" != short ] || exit "$failed"

mkdir "$work/there"
try_packages 'usr/lib/*/qt6/qml' "netwatch libnetwatch1 qml6-module-netwatch" \
  "iproute2 mount procps python3 qml-qt6 qml6-module-qtquick qml6-module-qtquick-window qml6-module-qtqml-models qml6-module-qtqml-workerscript" \
  qml "$work/there" /usr /usr/bin/netwatch /usr/lib/qt6/bin/qml ''
