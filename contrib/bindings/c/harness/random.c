/* Calls libnetwatch at random from four threads, by the rules of netwatch.h, while links come and go: random SECONDS [SEED].
 * To be run in a network namespace of its own, and with sanitizers. The exit status is 1 if a call breaks a rule. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <netwatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 6, REQUESTS = 32 };

/* A monitor that all threads use: who holds `owner` has it for himself, but for begin and end, which `life` keeps from close. */
static struct slot {
  pthread_mutex_t owner;
  pthread_rwlock_t life;
  netwatch *monitor;
  _Atomic uint64_t requests[REQUESTS];
} slots[SLOTS];

static time_t end;
static atomic_long calls, broken;

static unsigned next(unsigned *state) { return *state = *state * 1664525u + 1013904223u, *state >> 8; }

static void check(int is_so, const char *what) {
  calls++;
  if (is_so) return;
  fprintf(stderr, "broken: %s\n", what);
  broken++;
}

static _Thread_local unsigned in_callback;
static _Thread_local int closes;

static void begin(struct slot *slot, unsigned *seed) {
  static const char *labels[] = {NULL, "", "upload", "\xff\xfe not UTF-8", "a label\nwith \"everything\" \x01 in it"};
  static char longest[5000];
  if (!longest[0]) memset(longest, 'x', sizeof longest - 1);
  uint64_t request = netwatch_begin(slot->monitor, next(seed) % 6 ? labels[next(seed) % 5] : longest);
  check(request != 0, "begin");
  netwatch_end(slot->monitor, atomic_exchange(&slot->requests[next(seed) % REQUESTS], request));
}

static void look(struct slot *slot, unsigned *seed) {
  static const char *fields[] = {"medium", "interface", "reason", "vpn", "ssid", "ipv4", "ipv6", "gateway4", "gateway6", "expensive",
                                 "scope", "expensive_because", "constrained", "visible", "in_flight", "rules_fault", "description",
                                 "network_id", "internet", "portal_url", "portal_api", "name_servers", "nat64_prefix", "translated_by", "speed_mbps", "possible_mbps", "no_carrier_because", "wifi_end", "uplinks", "captive", "login_url", "session_seconds", "session_bytes", "stage", "rtt_ms", "loss_percent", "rx_bps", "tx_bps",
                                 "signal_dbm", "no such field", ""};
  const unsigned count = sizeof fields / sizeof *fields;
  unsigned field = next(seed) % count;
  const char *text = netwatch_get(slot->monitor, fields[field]);
  check(text ? !netwatch_error_text() && strlen(text) > 0 : (field < count - 2) == !netwatch_error_text(), "get");
  static const char *conditions[] = {"reachable", "not-reachable", "unmetered", "medium=virtual", "ssid=a", "no such condition",
                                     "stage=gateway", "network=0123456789abcdef"};
  unsigned condition = next(seed) % 8;
  int holds = netwatch_holds(slot->monitor, conditions[condition]);
  check(holds == -EINVAL ? condition > 4 && netwatch_error_text() : holds == 0 || (holds == 1 && condition != 4), "holds");
  const char *line = netwatch_line(slot->monitor);
  check(!line || (line[0] == '{' && line[strlen(line) - 1] == '}'), "line");
  int status = netwatch_get_status(slot->monitor);
  check(status >= NETWATCH_UNKNOWN && status <= NETWATCH_WIFI, "status");
  check(netwatch_fd(slot->monitor) >= 0, "fd");
}

static void changed(netwatch *monitor, void *context) {
  struct slot *slot = context;
  check(monitor == slot->monitor, "the callback's monitor");
  look(slot, &in_callback);
  check(netwatch_dispatch(monitor) == -EDEADLK, "dispatch within a callback");
  begin(slot, &in_callback);
  if (next(&in_callback) % 16 == 0) netwatch_on_change(monitor, NULL, NULL);
  if (closes) netwatch_close(monitor), closes = 0;
}

static void open_it(struct slot *slot, unsigned *seed) {
  static const char *const options[][3] = {{"no-service"}, {"interfaces"}, {"activity=tcp"}, {"activity=udp", "interfaces"},
                                           {"target=192.0.2.1"}, {"target=nowhere.invalid"}, {"hold=0.01"}, {"wwan=r*"},
                                           {"no such option"}, {"hold=nan"}, {"stages", "nudge"}, {"quality", "network-id"},
                                           {"traffic", "traffic-interval=0.1"}};
  unsigned choice = next(seed) % 14;
  int result = netwatch_open(choice < 13 ? options[choice] : NULL, &slot->monitor);
  check(choice == 8 || choice == 9 ? result == -EINVAL && !slot->monitor && netwatch_error_text() : result == 0, "open");
}

static void dispatch(struct slot *slot, unsigned *seed) {
  netwatch *monitor = slot->monitor;
  closes = next(seed) % 32 == 0;
  int mayClose = closes;
  if (mayClose) {
    pthread_rwlock_unlock(&slot->life);
    pthread_rwlock_wrlock(&slot->life);
  }
  in_callback = next(seed);
  netwatch_on_change(monitor, changed, slot);
  check(netwatch_dispatch(monitor) >= 0, "dispatch");
  if (mayClose && !closes) slot->monitor = NULL;
  closes = 0;
}

static void *work(void *number) {
  unsigned seed = (unsigned)(uintptr_t)number;
  while (time(NULL) < end) {
    struct slot *slot = &slots[next(&seed) % SLOTS];
    unsigned choice = next(&seed) % 100;
    if (choice < 40) {
      pthread_rwlock_rdlock(&slot->life);
      if (slot->monitor) begin(slot, &seed);
      pthread_rwlock_unlock(&slot->life);
      continue;
    }
    if (pthread_mutex_trylock(&slot->owner) != 0) continue;
    if (choice < 96) {
      pthread_rwlock_rdlock(&slot->life);
      if (slot->monitor && choice < 70) look(slot, &seed);
      else if (slot->monitor) dispatch(slot, &seed);
    } else {
      pthread_rwlock_wrlock(&slot->life);
      if (slot->monitor) netwatch_close(slot->monitor), slot->monitor = NULL;
      else open_it(slot, &seed);
    }
    pthread_rwlock_unlock(&slot->life);
    pthread_mutex_unlock(&slot->owner);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 2) return 64;
  unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)time(NULL);
  end = time(NULL) + atoi(argv[1]);
  pid_t links = fork();
  if (links == 0) {
    execlp("sh", "sh", "-c",
           "ip link set lo up; while :; do ip link add r0 type veth peer name r1; ip addr add 192.0.2.9/24 dev r0; ip link set r1 up;"
           "ip link set r0 up; ip route add default via 192.0.2.1; sleep 0.05; ip link set r1 down; sleep 0.02; ip link del r0; done 2>&-", NULL);
    _exit(127);
  }
  pthread_t threads[THREADS];
  for (int i = 0; i < SLOTS; i++) pthread_mutex_init(&slots[i].owner, NULL), pthread_rwlock_init(&slots[i].life, NULL);
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(seed + i * 7919));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < SLOTS; i++) netwatch_close(slots[i].monitor);
  kill(links, SIGKILL);
  waitpid(links, NULL, 0);
  fprintf(stderr, "          %ld checks, seed %u\n", (long)calls, seed);
  return broken != 0;
}
