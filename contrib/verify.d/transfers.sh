# Tries transfers in the background: 200 kills of the program and its worker, 100 swaps of the uplink, a metered path, 10,000 in a queue.
# Eight minutes. ARGUMENTS: kills, swaps, seconds on a metered path, and 1 for the queue; 0 leaves a part out.
. "$top/contrib/bindings/world.sh"

if [ "$is_inside" = yes ]; then
  work=$1 probe=$2 netwatch=$3
  make_world "$work"
  # The second uplink leads to the same router, from another network. The server is behind it.
  in-router ip link add cable2 type veth peer name enp2s0 netns $$
  in-router ip addr add 192.168.2.1/24 dev cable2
  in-router ip link set cable2 up
  in-router ip link set lo up
  in-router ip addr add 10.99.0.1/32 dev lo
  ip link set enp2s0 up
  ip addr add 192.168.2.23/24 dev enp2s0
  # A folder of rules of its own.
  mkdir "$work/real"
  mount --bind /etc "$work/real"
  mount -t tmpfs -o mode=755 tmpfs /etc
  ln -s "$work"/real/* /etc
  rm -f /etc/netwatch
  mkdir /etc/netwatch
  mkdir "$work/files"
  touch "$work/files/server.log"
  in-router python3 "$top/contrib/verify.d/transfers-server.py" "$work/files/server.log" &
  until in-router ss -Hlt src 10.99.0.1:8000 | grep -q .; do sleep 0.05; done
  python3 "$top/contrib/verify.d/transfers.py" "$probe" "$netwatch" "$work/files" "${@:4}" || failed=1
  exit "$failed"
fi

need_swift
need_packages $build_packages python3 iproute2 util-linux
if [ -z "${NETWATCH_BUILT:-}" ]; then
  for product in netwatch netwatch-http; do swift build --package-path "$top" --product $product >&2; done
  netwatch=$(swift build --package-path "$top" --show-bin-path)/netwatch
else
  netwatch=$NETWATCH_BUILT/netwatch
fi
swift build --package-path "$top" --product HTTPProbe >&2
in_a_world transfers "$work" "$(swift build --package-path "$top" --show-bin-path)/HTTPProbe" "$netwatch" \
  "${1:-200}" "${2:-100}" "${3:-60}" "${4:-1}" || failed=1
