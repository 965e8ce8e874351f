# Continues contrib/verify gio on a fresh Debian with the package: Python, GLib's own tests, and a browser of GNOME.

expect "GLib knows the module" grep -q "^libgionetwatch.so: gio-network-monitor" /usr/lib/*/gio/modules/giomodule.cache
start python3 "$harness/watch.py"
expect "Python: GNetworkMonitor is netwatch's" says_line 1 '^NetwatchMonitor$'
expect "Python: says the state at once" says_line 1 '^online full free$'
pull
expect "Python: the cable is pulled" says_line 1 '^offline local free$'
plug-in
expect "Python: the cable is back" says_line 2 '^online full free$'
kill "$running"
# GLib's own monitor never says that a cable was pulled.
export GIO_USE_NETWORK_MONITOR=netlink
start python3 "$harness/watch.py"
expect "GLib's own monitor: says the state at once" says_line 1 '^online full free$'
pull
# The next thing that it says is about this route.
ip route add default via 192.168.1.1 metric 7
expect "GLib's own monitor: says nothing of the cable" says_line 2 '^online full free$'
plug-in
kill "$running"
unset GIO_USE_NETWORK_MONITOR

for test in /usr/libexec/installed-tests/glib/{network-monitor,network-monitor-race,network-address}; do
  [ -x "$test" ] || continue
  expect "GLib's test ${test##*/}" timeout 60 "$test"
done

# WebKit asks GNetworkMonitor for navigator.onLine, which the page puts into the title of the window.
cat >"$work/page.html" <<'PAGE'
<!DOCTYPE html><title>-</title>
<script>
const tell = () => { document.title = navigator.onLine ? "This page is online" : "This page is offline"; };
addEventListener("online", tell);
addEventListener("offline", tell);
tell();
</script>
PAGE
mkdir -p -m 1777 /tmp/.X11-unix
export DISPLAY=:9 HOME=$work XDG_RUNTIME_DIR=$work WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1 LIBGL_ALWAYS_SOFTWARE=1
Xvfb :9 -screen 0 1024x768x24 -noreset >"$work/display" 2>&1 &
has_window() { xwininfo -root -tree | grep -qF "$1"; }
within_time xwininfo -root >/dev/null 2>&1
dbus-run-session -- epiphany-browser --private-instance --profile="$work/profile" "file://$work/page.html" >"$work/browser" 2>&1 &
expect "epiphany: the page is online" within_time has_window "This page is online"
pull
expect "epiphany: the cable is pulled" within_time has_window "This page is offline"
plug-in
expect "epiphany: the cable is back" within_time has_window "This page is online"
