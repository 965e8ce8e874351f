/* With `yes`, asks GNetworkMonitor, and prints the milliseconds and the KiB of private memory that this costs. Otherwise prints how
 * many libnetwatch are loaded. */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the private memory of this process in KiB. */
static long private_memory(void) {
  char *text = NULL, *place;
  long sum = 0;
  if (!g_file_get_contents("/proc/self/smaps_rollup", &text, NULL, NULL)) exit(1);
  for (place = text; (place = strstr(place, "Private_Dirty:")); place++) sum += strtol(place + strlen("Private_Dirty:"), NULL, 10);
  g_free(text);
  return sum;
}

int main(int count, char **words) {
  gboolean asks = count > 1 && strcmp(words[1], "yes") == 0;
  /* The rest of GIO is loaded in each program that uses it. */
  g_object_unref(g_file_new_for_path("/"));
  g_object_unref(g_resolver_get_default());
  long memory = private_memory();
  gint64 began = g_get_monotonic_time();
  if (asks) g_network_monitor_get_network_available(g_network_monitor_get_default());
  gint64 time = g_get_monotonic_time() - began;
  char *maps = NULL;
  if (!g_file_get_contents("/proc/self/maps", &maps, NULL, NULL)) return 1;
  if (asks) {
    g_print("%.1f %ld\n", time / 1000.0, private_memory() - memory);
  } else {
    g_print("%d libraries\n", strstr(maps, "libnetwatch") != NULL);
  }
  g_free(maps);
}
