/* `http-c load URL COUNT AT_ONCE`, `http-c download URL FILE`: libcurl's multi interface on epoll, as little as it takes.
   Prints seconds and the peak of its memory in KiB. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static CURLM *multi;
static int loop;
static long timeout = -1;
static long left, running;
static size_t received;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *message) {
  fprintf(stderr, "http-c: %s\n", message);
  exit(2);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *data, void *known) {
  (void)easy, (void)data;
  struct epoll_event event = {.data.fd = socket};
  if (what == CURL_POLL_REMOVE) return epoll_ctl(loop, EPOLL_CTL_DEL, socket, NULL), 0;
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  epoll_ctl(loop, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  curl_multi_assign(multi, socket, &loop);
  return 0;
}

static int on_timer(CURLM *multi, long milliseconds, void *data) {
  (void)multi, (void)data;
  timeout = milliseconds;
  return 0;
}

static size_t keep(char *bytes, size_t size, size_t count, void *body) {
  memcpy((char *)body + *(size_t *)body + sizeof(size_t), bytes, size * count);
  *(size_t *)body += size * count;
  received += size * count;
  return size * count;
}

static void take_ends(void) {
  int queued;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &queued))) {
    long status = 0;
    CURL *easy = message->easy_handle;
    size_t *body;
    if (message->data.result != CURLE_OK) fail(curl_easy_strerror(message->data.result));
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) fail("not 200");
    curl_multi_remove_handle(multi, easy);
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&body);
    *body = 0;
    if (left-- > 0)
      curl_multi_add_handle(multi, easy);
    else
      running--;
  }
}

static void load(const char *url, long count, long at_once) {
  struct epoll_event events[64];
  int still;
  multi = curl_multi_init();
  loop = epoll_create1(EPOLL_CLOEXEC);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  left = count - at_once;
  running = at_once;
  for (long index = 0; index < at_once; index++) {
    CURL *easy = curl_easy_init();
    void *body = calloc(1, 65536);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, body);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Without a folder it parses the bundle of authorities once for all connections, as NetwatchHTTP has it. */
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    curl_multi_add_handle(multi, easy);
  }
  while (running > 0) {
    int ready = timeout == 0 ? 0 : epoll_wait(loop, events, 64, timeout);
    if (ready == 0) {
      timeout = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &still);
    }
    for (int index = 0; index < ready; index++) {
      int mask = (events[index].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                 (events[index].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                 (events[index].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi, events[index].data.fd, mask, &still);
    }
    take_ends();
  }
}

static void download(const char *url, const char *path) {
  FILE *file = fopen(path, "w");
  CURL *easy = curl_easy_init();
  if (!file) fail("cannot open the file");
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, file);
  if (curl_easy_perform(easy) != CURLE_OK) fail("the download has failed");
  fclose(file);
}

static long peak(void) {
  char line[256];
  long value = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %ld", &value) == 1) break;
  if (file) fclose(file);
  return value;
}

int main(int count, char **arguments) {
  double began = now();
  curl_global_init(CURL_GLOBAL_DEFAULT);
  if (count == 5 && !strcmp(arguments[1], "load"))
    load(arguments[2], atol(arguments[3]), atol(arguments[4]));
  else if (count == 4 && !strcmp(arguments[1], "download"))
    download(arguments[2], arguments[3]);
  else
    fail("usage: http-c load URL COUNT AT_ONCE | download URL FILE");
  printf("%.6f %ld\n", now() - began, peak());
  return 0;
}
