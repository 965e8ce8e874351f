# Tries transfers in the background: 200 kills of the program and its worker, 100 swaps of the uplink, a metered path, 10,000 in a queue.
# Eight minutes. ARGUMENTS: kills, swaps, seconds on a metered path, and 1 for the queue; 0 leaves a part out.
. "$top/contrib/bindings/world.sh"

if [ "$is_inside" = yes ]; then
  work=$1 probe=$2 netwatch=$3
  make_world "$work"
  # The second uplink leads to the same router.
  in-router ip link add cable2 type veth peer name enp2s0 netns $$
  in-router ip link set cable2 up
  in-router ip link add lan type bridge
  in-router ip addr flush dev cable
  for link in cable cable2; do in-router ip link set "$link" master lan; done
  in-router ip addr add 192.168.1.1/24 dev lan
  in-router ip link set lan up
  ip link set enp2s0 up
  ip addr add 192.168.1.24/24 dev enp2s0
  mkdir -p "$work/etc"
  mount -t tmpfs tmpfs "$work/etc"
  mkdir -p /etc/netwatch 2>/dev/null || true
  mount -t tmpfs -o mode=755 tmpfs /etc/netwatch
  mkdir "$work/files"
  touch "$work/files/server.log"
  in-router python3 "$top/contrib/verify.d/transfers-server.py" "$work/files/server.log" &
  until in-router ss -Hlt src 192.168.1.1:8000 | grep -q .; do sleep 0.05; done
  python3 "$top/contrib/verify.d/transfers.py" "$probe" "$netwatch" "$work/files" "${@:4}" || failed=1
  exit "$failed"
fi

be_root "mount a folder of rules"
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
