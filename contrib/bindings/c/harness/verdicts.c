/* Opens a monitor that judges by the files of rules for each line of standard input, and prints its verdict. */
#include <netwatch.h>
#include <stdio.h>

static const char *field(netwatch *monitor, const char *name) {
  const char *text = netwatch_get(monitor, name);
  return text ? text : "-";
}

int main(void) {
  static const char *const options[] = {"rules", "no-service", NULL};
  char order[16];
  while (fgets(order, sizeof order, stdin)) {
    netwatch *monitor;
    if (netwatch_open(options, &monitor) < 0) return puts(netwatch_error_text()), 1;
    const char *because = field(monitor, "expensive_because");
    if (because[0] == '-' && field(monitor, "expensive")[0] == '1') because = "unknown";
    printf("%d %s %s %s %s", netwatch_get_status(monitor), field(monitor, "medium"), field(monitor, "interface"), because,
           field(monitor, "constrained"));
    printf(" %s\n", netwatch_get(monitor, "rules_fault") ? "fault" : "-");
    fflush(stdout);
    netwatch_close(monitor);
  }
  return 0;
}
