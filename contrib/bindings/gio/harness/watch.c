/* Prints what GNetworkMonitor says, and each of its signals with the time of the monotonic clock in microseconds. Reads commands:
 *   now            the time
 *   reach TARGET   whether it can be reached, asked in both ways, which must agree
 *   read           the properties as another thread reads them, while nobody runs the main context
 *   fork           the state in a child of this process, then its next signal */
#include <gio/gio.h>
#include <gio/gunixinputstream.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print(const char *who, GNetworkMonitor *monitor) {
  static const char *const connectivities[] = {"-", "local", "limited", "portal", "full"};
  g_print("%s %s%s %s %" G_GINT64_FORMAT "\n", who, g_network_monitor_get_network_available(monitor) ? "online" : "offline",
          g_network_monitor_get_network_metered(monitor) ? " metered" : "",
          connectivities[g_network_monitor_get_connectivity(monitor)], g_get_monotonic_time());
}

static void changed(GNetworkMonitor *monitor, gboolean is_available, gpointer who) {
  g_assert_true(is_available == g_network_monitor_get_network_available(monitor));
  print(who, monitor);
}

static void notified(GObject *monitor, GParamSpec *property, gpointer context) {
  (void)monitor, (void)context;
  g_print("notify %s\n", property->name);
}

static void answered(GObject *monitor, GAsyncResult *result, gpointer is_reachable) {
  GError *error = NULL;
  *(int *)is_reachable = g_network_monitor_can_reach_finish(G_NETWORK_MONITOR(monitor), result, &error);
  g_clear_error(&error);
}

static void reach(GNetworkMonitor *monitor, const char *target) {
  GError *error = NULL;
  GSocketConnectable *connectable = g_network_address_parse(target, 80, &error);
  g_assert_no_error(error);
  gboolean is_reachable = g_network_monitor_can_reach(monitor, connectable, NULL, &error);
  int answer = -1;
  g_network_monitor_can_reach_async(monitor, connectable, NULL, answered, &answer);
  while (answer < 0) g_main_context_iteration(NULL, TRUE);
  g_assert_cmpint(answer, ==, is_reachable);
  g_print("%s %s%s%s\n", is_reachable ? "reaches" : "misses", target, error ? ": " : "", error ? error->message : "");
  g_clear_error(&error);
  g_object_unref(connectable);
}

static gpointer read_elsewhere(gpointer monitor) {
  print("thread", monitor);
  return NULL;
}

static void end_child(GNetworkMonitor *monitor, gboolean is_available, gpointer context) {
  (void)monitor, (void)is_available, (void)context;
  exit(0);
}

static void make_child(GNetworkMonitor *monitor) {
  if (fork() > 0) return;
  print("child", monitor);
  g_signal_handlers_disconnect_by_func(monitor, changed, "signal");
  g_signal_connect(monitor, "network-changed", G_CALLBACK(changed), "child");
  g_signal_connect_after(monitor, "network-changed", G_CALLBACK(end_child), NULL);
  /* The commands belong to the parent. */
  while (TRUE) {
    int nothing[2];
    g_assert_cmpint(pipe(nothing), ==, 0);
    dup2(nothing[0], 0);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
  }
}

static gboolean command(GObject *input, gpointer context) {
  GNetworkMonitor *monitor = context;
  char line[256];
  gssize length = g_pollable_input_stream_read_nonblocking(G_POLLABLE_INPUT_STREAM(input), line, sizeof line - 1, NULL, NULL);
  if (length <= 0) exit(0);
  line[length] = 0;
  char **lines = g_strsplit(line, "\n", -1);
  for (char **word = lines; *word && **word; word++) {
    if (g_str_has_prefix(*word, "reach ")) reach(monitor, *word + strlen("reach "));
    if (g_str_equal(*word, "now")) g_print("now %" G_GINT64_FORMAT "\n", g_get_monotonic_time());
    if (g_str_equal(*word, "read")) g_thread_join(g_thread_new("reader", read_elsewhere, monitor));
    if (g_str_equal(*word, "fork")) make_child(monitor);
  }
  g_strfreev(lines);
  return G_SOURCE_CONTINUE;
}

int main(void) {
  GNetworkMonitor *monitor = g_network_monitor_get_default();
  g_print("%s\n", G_OBJECT_TYPE_NAME(monitor));
  print("first", monitor);
  g_signal_connect(monitor, "network-changed", G_CALLBACK(changed), "signal");
  g_signal_connect(monitor, "notify", G_CALLBACK(notified), NULL);
  GInputStream *input = g_unix_input_stream_new(STDIN_FILENO, FALSE);
  GSource *source = g_pollable_input_stream_create_source(G_POLLABLE_INPUT_STREAM(input), NULL);
  g_source_set_callback(source, G_SOURCE_FUNC(command), monitor, NULL);
  g_source_attach(source, NULL);
  g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
