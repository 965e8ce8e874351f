/* Watches the network in a GLib main loop, as a GTK program runs one. It replaces GNetworkMonitor:
 * network_changed() stands for the signal "network-changed", is_online() for g_network_monitor_get_network_available(), and
 * is_expensive() for g_network_monitor_get_network_metered(). */
#include <glib-unix.h>
#include <netwatch.h>

static gboolean is_online(const netwatch *monitor) { return netwatch_get_status(monitor) > NETWATCH_NOT_REACHABLE; }

static gboolean is_expensive(const netwatch *monitor) { return g_strcmp0(netwatch_get(monitor, "expensive"), "1") == 0; }

static void network_changed(netwatch *monitor, void *context) {
  (void)context;
  g_print("%s%s: %s\n", is_online(monitor) ? "online" : "offline", is_expensive(monitor) ? ", expensive" : "",
          netwatch_get(monitor, "reason"));
}

static gboolean readable(gint descriptor, GIOCondition condition, gpointer monitor) {
  (void)descriptor, (void)condition;
  if (netwatch_dispatch(monitor) >= 0) return G_SOURCE_CONTINUE;
  g_printerr("glib: %s\n", netwatch_error_text());
  return G_SOURCE_REMOVE;
}

int main(void) {
  netwatch *monitor;
  if (netwatch_open(NULL, &monitor) < 0) g_error("%s", netwatch_error_text());
  netwatch_on_change(monitor, network_changed, NULL);
  network_changed(monitor, NULL);
  /* With GTK, gtk_application_run() or g_application_run() takes the place of this loop. */
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);
  g_unix_fd_add(netwatch_fd(monitor), G_IO_IN, readable, monitor);
  g_unix_signal_add(SIGTERM, G_SOURCE_FUNC(g_main_loop_quit), loop);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  netwatch_close(monitor);
}
