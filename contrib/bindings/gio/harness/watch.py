"""Prints what Gio.NetworkMonitor says, and each of its signals."""

from gi.repository import Gio, GLib

monitor = Gio.NetworkMonitor.get_default()


def tell(*_):
    state = "online" if monitor.get_network_available() else "offline"
    print(state, monitor.get_connectivity().value_nick, "metered" if monitor.get_network_metered() else "free", flush=True)


print(type(monitor).__name__, flush=True)
tell()
monitor.connect("network-changed", tell)
GLib.MainLoop().run()
