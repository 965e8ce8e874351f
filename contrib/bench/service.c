#define _GNU_SOURCE

#include "service.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "process.h"

enum { START_LIMIT_MS = 10000 };

static const char line_start[] = "{\"v\":1,\"seq\":";

/* Of the one that runs; it cannot remove it itself where the harness gives up. */
static char folder[sizeof "/tmp/netwatch-bench.XXXXXX"];

static void remove_folder(void) {
  static const char *const names[] = {"socket", "socket.lock"};
  char path[64];
  if (folder[0] == '\0') return;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  rmdir(folder);
  folder[0] = '\0';
}

static bool try_to_connect(struct client *client, const struct service *service) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", service->socket);
  client->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client->socket < 0) err(2, "socket");
  client->line = NULL;
  client->length = client->taken = client->sequence = client->read_ns = 0;
  if (connect(client->socket, (struct sockaddr *)&address, sizeof address) == 0) return true;
  close(client->socket);
  return false;
}

void service_start_with(struct service *service, const struct options *options, char *option, char *value) {
  static bool is_registered;
  if (!is_registered && atexit(remove_folder) != 0) err(2, "atexit");
  is_registered = true;
  strcpy(folder, "/tmp/netwatch-bench.XXXXXX");
  if (mkdtemp(folder) == NULL) err(2, "%s", folder);
  snprintf(service->socket, sizeof service->socket, "%s/socket", folder);

  char *arguments[] = {(char *)options->netwatch, "serve", "--socket", service->socket, option, value, NULL};
  int messages = open_log(options, "netwatch serve");
  service->pid = process_start(options->netwatch, arguments, messages, messages);
  close(messages);

  static struct client client;
  uint64_t deadline = now_ns() + START_LIMIT_MS * UINT64_C(1000000);
  while (!try_to_connect(&client, service)) {
    if (now_ns() > deadline)
      errx(2, "the service does not listen; its messages are in netwatch serve.log beside the "
              "compiled programs");
    sleep_ms(1);
  }
  if (!client_await(&client, line_start, START_LIMIT_MS)) errx(2, "the service says nothing");
  client_close(&client);
}

void service_start(struct service *service, const struct options *options) {
  service_start_with(service, options, NULL, NULL);
}

void service_stop(struct service *service) {
  process_stop(service->pid);
  remove_folder();
}

void client_connect(struct client *client, const struct service *service) {
  if (!try_to_connect(client, service)) err(2, "connect to the service");
}

void client_connect_silent(struct client *client, const struct service *service) {
  client_connect(client, service);
  client_send(client, "{\"events\":false}\n");
}

void client_close(struct client *client) { close(client->socket); }

void client_send(struct client *client, const char *text) {
  ssize_t length = strlen(text);
  if (send(client->socket, text, length, MSG_NOSIGNAL) != length) err(2, "send to the service");
}

bool client_read(struct client *client) {
  memmove(client->bytes, client->bytes + client->taken, client->length - client->taken);
  client->length -= client->taken;
  client->taken = 0;
  size_t room = sizeof client->bytes - client->length;
  if (room == 0) errx(2, "a line of the service has more than %d bytes", CLIENT_CAPACITY);
  ssize_t length = recv(client->socket, client->bytes + client->length, room, MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (length < 0) err(2, "recv from the service");
  if (length == 0) errx(2, "the service has closed a connection");
  client->read_ns = now_ns();
  client->length += length;
  return true;
}

bool client_next_line(struct client *client) {
  char *start = client->bytes + client->taken;
  char *end = memchr(start, '\n', client->length - client->taken);
  if (end == NULL) return false;
  *end = '\0';
  if (strncmp(start, line_start, sizeof line_start - 1) != 0) errx(2, "the service says %s", start);
  client->line = start;
  client->sequence = strtoull(start + sizeof line_start - 1, NULL, 10);
  client->taken = end + 1 - client->bytes;
  return true;
}

static bool read_in_time(struct client *client, uint64_t deadline) {
  uint64_t now = now_ns();
  struct pollfd readable = {.fd = client->socket, .events = POLLIN};
  int ready = poll(&readable, 1, now < deadline ? (deadline - now + 999999) / 1000000 : 0);
  if (ready < 0 && errno != EINTR) err(2, "poll");
  return ready > 0 && client_read(client);
}

bool client_await(struct client *client, const char *mark, int timeout_ms) {
  uint64_t deadline = now_ns() + timeout_ms * UINT64_C(1000000);
  while (read_in_time(client, deadline)) {
    bool has_come = false;
    while (client_next_line(client)) has_come = strstr(client->line, mark) != NULL;
    if (has_come) return true;
  }
  return false;
}

void client_read_until_silent(struct client *client, int silence_ms) {
  while (read_in_time(client, now_ns() + silence_ms * UINT64_C(1000000))) {
    while (client_next_line(client)) {
    }
  }
}
