/* GLib's own network monitor over netlink, printing one line for each of its signals. */
#include <gio/gio.h>
#include <stdio.h>
#include <unistd.h>

static void write_line(const char *event, gboolean available) {
  char line[96];
  int length = snprintf(line, sizeof line, "{\"event\":\"%s\",\"available\":%s}\n", event,
                        available ? "true" : "false");
  if (write(STDOUT_FILENO, line, length) != length) _exit(2);
}

static void on_network_changed(GNetworkMonitor *monitor, gboolean available, gpointer context) {
  (void)monitor;
  (void)context;
  write_line("network-changed", available);
}

int main(void) {
  /* GLib prefers NetworkManager or the portal where they run: this compares netlink with netlink. */
  g_setenv("GIO_USE_NETWORK_MONITOR", "netlink", TRUE);
  GNetworkMonitor *monitor = g_network_monitor_get_default();
  const char *type = G_OBJECT_TYPE_NAME(monitor);
  g_printerr("%s\n", type);
  if (!g_str_equal(type, "GNetworkMonitorNetlink")) return 2;

  g_signal_connect(monitor, "network-changed", G_CALLBACK(on_network_changed), NULL);
  write_line("initial", g_network_monitor_get_network_available(monitor));
  g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
