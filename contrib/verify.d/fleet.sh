# Tries the overview of many machines with a real nats-server, with TLS and logins: three machines in namespaces, and simulated ones.
# Four minutes. ARGUMENTS: how many machines are simulated, how many lines each tells, and 1 for a cluster; default: 1000,7,1
#
# The page is shown in Chromium, and the screenshots are to be looked at. 10,000 machines need `ulimit -n 20000`.
if [ "$is_inside" = yes ]; then
  exec python3 "$top/contrib/verify.d/fleet.py" "$@"
fi

machines=${1:-1000}
lines=${2:-7}
cluster=${3:-1}
need_swift
need_packages $build_packages python3 python3-pip iproute2 util-linux openssl mosquitto-clients
server=$(folder_of_program nats-server usr/bin/nats-server):$(folder_of_program mosquitto usr/sbin/mosquitto)
[ -x /usr/sbin/mosquitto ] || need_packages $(libraries_of mosquitto)
command -v chromium >/dev/null || need_packages chromium
for product in netwatch netwatch-mqtt; do swift build --package-path "$top" --product $product >&2; done
# The client libraries are those of PyPI, as for an operator.
site=${XDG_CACHE_HOME:-$HOME/.cache}/netwatch/fleet
python3 -m pip install --quiet --disable-pip-version-check --target "$site" --upgrade nats-py paho-mqtt bcrypt >&2
export PYTHONPATH=$top/contrib/fleet:$site PATH=$PATH:$server
python3 -m unittest discover -s "$top/contrib/fleet/tests" -t "$top/contrib/fleet/tests" >&2 || failed=1
python3 "$top/contrib/verify.d/fleet_page.py" "$top/.build-fleet" || failed=1
as_root=()
[ "$(id -u)" = 0 ] || as_root=(--user --map-root-user)
unshare "${as_root[@]}" --net --mount --pid --fork --mount-proc --kill-child \
  bash "$top/contrib/verify" --inside fleet "$top" "$work" "$(swift build --package-path "$top" --show-bin-path)" "$machines" "$lines" "$cluster" || failed=1
