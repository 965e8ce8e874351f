# Compares what the command, the service, C, Python, Node.js and Swift say under 500 generated sets of files of rules.
# Two minutes. ARGUMENTS: how many sets, a number that the sets follow from, and the folder that contrib/bindings/c/build has printed.
#
# Each front end has to give the same verdict, and to report whether a line is broken. If the rules do not change which
# link carries the traffic, an independent reading of them in Python also has to give the verdict.
. "$top/contrib/bindings/world.sh"

if [ "$is_inside" = yes ]; then
  folder=$1 count=$2 seed=$3 package=$4 node=$5
  # /etc is replaced by links to its files, with a folder netwatch of the test's own.
  mkdir "$folder/real" "$folder/etc"
  mount --bind /etc "$folder/real"
  mount -t tmpfs -o mode=755 tmpfs /etc
  for file in "$folder"/real/*; do ln -s "$file" /etc/; done
  rm -f /etc/netwatch
  mkdir /etc/netwatch
  mount --bind "$folder/etc" /etc/netwatch
  ip link set lo up
  number=0
  for link in enp1s0 usb0 ppp1; do
    ip link add "$link" type veth peer name "far$number"
    ip link set "far$number" up
    ip link set "$link" up
    ip addr add "10.$number.0.1/24" dev "$link"
    number=$((number + 1))
  done
  cat >"$folder/verdicts.py" <<'END'
import sys, libnetwatch
for _ in sys.stdin:
    with libnetwatch.Monitor(rules=True, no_service=True) as monitor:
        path = monitor.path
        constrained = ("1" if path.constrained else "0") if path.reachable else "-"
        because = path.expensive_because or "unknown" if path.expensive else "-"
        print(int(path.status), path.medium or "-", path.interface or "-", because, constrained,
              "fault" if monitor.rules_fault else "-", flush=True)
END
  cat >"$folder/verdicts.js" <<'END'
const { Monitor } = require(process.argv[2]);
require('node:readline').createInterface({ input: process.stdin }).on('line', () => {
  const monitor = new Monitor({ rules: true, noService: true });
  const { status, medium, interface: link, expensive, expensiveBecause, constrained, reachable } = monitor.path;
  const because = expensive ? (expensiveBecause ?? 'unknown') : '-';
  const words = [status, medium ?? '-', link ?? '-', because, reachable ? (constrained ? 1 : 0) : '-'];
  console.log(...words, monitor.rulesFault ? 'fault' : '-');
  monitor.close();
});
END
  python3 "$top/contrib/verify.d/rules.py" "$folder/etc" "$seed" "$count" "$folder/netwatch" "$folder/verdicts" \
    "$folder/venv/bin/python $folder/verdicts.py" "$node $folder/verdicts.js $package" "$folder/NetwatchProbe verdicts" || exit 1
  exit
fi

need_packages gcc libc6-dev pkg-config libuv1-dev iproute2 util-linux coreutils python3
count=${1:-500}
seed=${2:-$RANDOM}
[ $# -lt 3 ] && find_library || find_library "$3"
. "$top/contrib/bindings/node/nodes.sh"
cc -Wall -Wextra -Werror -O "$top/contrib/bindings/c/harness/verdicts.c" -o "$work/verdicts" \
  $(pkg-config --cflags --libs netwatch) -Wl,-rpath,"$library/lib"
wheel=$("$top/contrib/bindings/python/build" "$library" | tail -n 1)
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --disable-pip-version-check install --quiet --no-index --no-cache-dir "$wheel"
package=$("$top/contrib/bindings/node/build" "$library" | tail -n 1)
swift build --product netwatch >&2
swift build --product NetwatchProbe >&2
ln -s "$(swift build --show-bin-path)"/{netwatch,NetwatchProbe} "$work"
node=${nodes[-1]}
say "Rules from the number $seed"
in_a_world rules "$work" "$count" "$seed" "$package" "${node%% *}" || failed=1
