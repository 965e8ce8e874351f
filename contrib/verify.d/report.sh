# Shows a page of `netwatch report` in Chromium: wide, narrow, dark and on paper; prints where the screenshots are.
# Two minutes; installs Chromium if it is missing. Look at the screenshots.
#
# The page is about an invented month. It must not run a script, load anything, or be wider than the narrow screen.
need_swift
need_packages $build_packages python3
command -v chromium >/dev/null || need_packages chromium
swift build --package-path "$top" --product netwatch-log >&2
log=$(swift build --package-path "$top" --show-bin-path)/netwatch-log
out=$top/.build-report
mkdir -p "$out"

# Each line is a change, as netwatch sends it to the log. Some networks have names that contain markup.
python3 - >"$work/lines" <<'END'
import datetime, json, random
random.seed(5)
clock, suspended, start = 1000.0, 0.0, 1763000000


def change(ssid, reason):
    path = dict.fromkeys(('medium', 'interface', 'index', 'expensive', 'vpn', 'ipv4', 'ipv6', 'wifi'))
    if ssid:
        path.update(medium='wifi', interface='wlan0', index=3, expensive=False, wifi={
            'ssid': ssid, 'ssid_hex': ssid.encode().hex(), 'signal_dbm': None, 'signal_percent': None})
    path = {'status': 'wifi' if ssid else 'not-reachable', **path}
    line('reachability', reason, path)


def line(event, reason, path, **more):
    time = datetime.datetime.fromtimestamp(start + clock + suspended, datetime.timezone.utc)
    print(json.dumps({
        'v': 1, 'seq': 1, 'time': time.strftime('%Y-%m-%dT%H:%M:%S.%fZ'), 'mono_ns': int(clock * 1e9), 'event': event,
        'reason': reason, 'reachability': path, 'activity': {'state': 'inactive', 'visible': False, 'in_flight': 0},
        'log': {'boot_ns': int((clock + suspended) * 1e9)}, **more}))


names = ['Home', 'Home', 'Office 5 GHz', 'Café', '<svg onload=document.title=1>', '<img src="http://192.0.2.1/">']
received = 0
for day in range(30):
    for _ in range(6):
        change(random.choice(names), 'route_up')
        clock += random.random() * 5 * 3600
        received += random.randrange(1 << 30)
        wifi = dict.fromkeys(('vpn', 'ipv4', 'ipv6', 'wifi'))
        line('traffic', 'sampled', {
            'status': 'wifi', 'medium': 'wifi', 'interface': 'wlan0', 'index': 3, 'expensive': False, **wifi},
            traffic={'interface': 'wlan0', 'rx_bytes': received, 'tx_bytes': received // 9, 'rx_bps': None, 'tx_bps': None})
        change(None, random.choice(['no_carrier', 'no_route', 'link_down']))
        clock += random.choice([.05, 2, 4, 30, 400, 1500])
    suspended += 8 * 3600
END
"$log" write --folder "$work/log" <"$work/lines"
"$log" report --file "$work/log/log.sqlite" --since 2020-01-01 "$work/page.html"

# As root, Chromium does not start with its sandbox.
browser() {
  timeout 120 chromium --headless --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" --host-resolver-rules='MAP * ~NOTFOUND' \
    $([ "$(id -u)" = 0 ] && echo --no-sandbox) "$@" 2>/dev/null
}
page=file://$work/page.html
browser --window-size=1200,3400 --screenshot="$out/wide.png" "$page"
browser --window-size=500,3400 --screenshot="$out/narrow.png" "$page"
browser --window-size=1200,3400 --blink-settings=preferredColorScheme=0 --screenshot="$out/dark.png" "$page"
browser --no-pdf-header-footer --print-to-pdf="$out/paper.pdf" "$page"

browser --dump-dom "$page" >"$work/dom"
grep -q '<title>Network report</title>' "$work/dom" || die "the page has run a script, or has not been read."
if grep -Eq '<(script|img|link|iframe)' "$work/dom"; then die "the page has an element that a stranger has named."; fi
# The page is shown in a frame as wide as a phone, and prints how wide it wants to be.
cat >"$work/frame.html" <<END
<iframe src="$page" width="360" height="800" onload="
  const page = this.contentDocument.documentElement; document.title = page.scrollWidth + ' of ' + page.clientWidth"></iframe>
END
title=$(browser --allow-file-access-from-files --virtual-time-budget=5000 --dump-dom "file://$work/frame.html" |
  sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p')
read -r wanted _ had <<<"$title"
[ -n "$had" ] && [ "$wanted" -le "$had" ] || die "on a phone of 360 pixels the page is ${title:-of an unknown width}."
printf '%s\n' "$out"/{wide,narrow,dark}.png "$out/paper.pdf"
