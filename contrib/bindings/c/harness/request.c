/* Announces a request with a label, until standard input ends: request LABEL. */
#include <netwatch.h>
#include <stdio.h>

int main(int argc, char **argv) {
  netwatch *monitor;
  if (argc != 2 || netwatch_open(NULL, &monitor) != 0) return 1;
  uint64_t request = netwatch_begin(monitor, argv[1]);
  if (netwatch_dispatch(monitor) < 0) return 1;
  puts("begun");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  netwatch_end(monitor, request);
  netwatch_close(monitor);
  return 0;
}
