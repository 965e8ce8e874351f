/* The addon of libnetwatch for Node.js, which index.js wraps in an EventEmitter. A monitor is watched in the loop of the
 * environment that has opened it, which may be that of a worker. All functions of the monitor are called in that thread. */
#define _GNU_SOURCE /* For strerrorname_np(). uv.h also needs it with -std=c11. */
#define NAPI_VERSION 8
#include <errno.h>
#include <netwatch.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* A monitor is freed when it is closed and JavaScript has released it. */
typedef struct {
  uv_poll_t poll;
  netwatch *handle; /* NULL after the monitor is closed. */
  napi_env env;
  napi_ref told; /* The function told(lines, code, sentence): each change as its line and its description, then an error. */
  napi_async_context context;
  napi_async_cleanup_hook_handle hook;
  napi_value lines; /* Only during netwatch_dispatch(). */
  uint32_t count;
  int is_watched, is_forgotten;
} monitor;

static void closed(uv_handle_t *poll) {
  monitor *self = poll->data;
  self->is_watched = 0;
  napi_delete_reference(self->env, self->told);
  napi_async_destroy(self->env, self->context);
  napi_remove_async_cleanup_hook(self->hook);
  if (self->is_forgotten) free(self);
}

static void close_monitor(monitor *self) {
  if (!self->handle) return;
  /* The loop stops watching the descriptor here and calls closed() later. */
  uv_close((uv_handle_t *)&self->poll, closed);
  netwatch_close(self->handle);
  self->handle = NULL;
}

static void environment_ends(napi_async_cleanup_hook_handle hook, void *data) {
  (void)hook;
  close_monitor(data);
}

static void forgotten(napi_env env, void *data, void *hint) {
  (void)env, (void)hint;
  monitor *self = data;
  if (self->is_watched) self->is_forgotten = 1;
  else free(self);
}

/* MARK: Changes */

static napi_value text(napi_env env, const char *value) {
  napi_value result = NULL;
  value ? napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result) : napi_get_undefined(env, &result);
  return result;
}

static void changed(netwatch *handle, void *context) {
  monitor *self = context;
  napi_set_element(self->env, self->lines, self->count++, text(self->env, netwatch_line(handle)));
  napi_set_element(self->env, self->lines, self->count++, text(self->env, netwatch_get(handle, "description")));
}

/* JavaScript runs after netwatch_dispatch(), not within it, so JavaScript may call every function of the monitor. */
static void readable(uv_poll_t *poll, int status, int events) {
  (void)events;
  monitor *self = poll->data;
  napi_env env = self->env;
  napi_handle_scope scope;
  napi_open_handle_scope(env, &scope);
  napi_create_array(env, &self->lines);
  self->count = 0;
  int result = status < 0 ? status : netwatch_dispatch(self->handle);
  const char *sentence = status < 0 ? uv_strerror(status) : netwatch_error_text();
  napi_value code = text(env, result < 0 ? strerrorname_np(-result) : NULL), told, global, exception;
  napi_value arguments[] = {self->lines, code, text(env, result < 0 ? sentence : NULL)};
  napi_get_reference_value(env, self->told, &told);
  napi_get_global(env, &global);
  if (result < 0 || self->count > 0) {
    napi_status called = napi_make_callback(env, self->context, global, told, 3, arguments, NULL);
    if (called == napi_pending_exception && napi_get_and_clear_last_exception(env, &exception) == napi_ok)
      napi_fatal_exception(env, exception);
  }
  napi_close_handle_scope(env, scope);
}

/* MARK: What index.js calls */

static char *copy(napi_env env, napi_value value) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &size) != napi_ok) return NULL;
  char *result = malloc(size + 1);
  if (result) napi_get_value_string_utf8(env, value, result, size + 1, &size);
  return result;
}

/* Returns the monitor in the first argument, or NULL with an exception. Stores the second argument in *argument. */
static monitor *receiver(napi_env env, napi_callback_info info, napi_value *argument) {
  size_t count = 2;
  napi_value arguments[2];
  void *self = NULL;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (argument) *argument = arguments[1];
  if (napi_get_value_external(env, arguments[0], &self) == napi_ok && ((monitor *)self)->handle) return self;
  napi_throw_error(env, "ERR_INVALID_STATE", "The monitor is closed.");
  return NULL;
}

/* open(options, told): opens a monitor and returns it. */
static napi_value open_monitor(napi_env env, napi_callback_info info) {
  size_t count = 2;
  uint32_t size = 0;
  napi_value arguments[2], element, result = NULL;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  napi_get_array_length(env, arguments[0], &size);
  char **options = calloc(size + 1, sizeof *options);
  monitor *self = calloc(1, sizeof *self);
  int status = options && self ? 0 : -ENOMEM;
  for (uint32_t i = 0; status == 0 && i < size; i++) {
    napi_get_element(env, arguments[0], i, &element);
    if (!(options[i] = copy(env, element))) status = -ENOMEM;
  }
  const char *sentence = uv_strerror(status);
  if (status == 0 && (status = netwatch_open((const char *const *)options, &self->handle)) < 0) sentence = netwatch_error_text();
  uv_loop_t *loop = NULL;
  napi_get_uv_event_loop(env, &loop);
  if (status == 0 && (status = uv_poll_init(loop, &self->poll, netwatch_fd(self->handle))) == 0) {
    self->env = env;
    self->poll.data = self;
    self->is_watched = 1;
    napi_create_reference(env, arguments[1], 1, &self->told);
    napi_async_init(env, NULL, text(env, "netwatch"), &self->context);
    napi_add_async_cleanup_hook(env, environment_ends, self, &self->hook);
    netwatch_on_change(self->handle, changed, self);
    uv_poll_start(&self->poll, UV_READABLE, readable);
    napi_create_external(env, self, forgotten, NULL, &result);
  } else {
    napi_throw_error(env, strerrorname_np(-status), sentence);
    if (self) netwatch_close(self->handle);
    free(self);
  }
  for (uint32_t i = 0; options && i < size; i++) free(options[i]);
  free(options);
  return result;
}

static napi_value close_function(napi_env env, napi_callback_info info) {
  monitor *self = receiver(env, info, NULL);
  return self ? close_monitor(self), NULL : NULL;
}

#define RETURNS_TEXT(name, value) \
  static napi_value name(napi_env env, napi_callback_info info) { \
    monitor *self = receiver(env, info, NULL); \
    return self ? text(env, value) : NULL; \
  }
RETURNS_TEXT(line, netwatch_line(self->handle))
RETURNS_TEXT(description, netwatch_get(self->handle, "description"))
RETURNS_TEXT(rules_fault, netwatch_get(self->handle, "rules_fault"))

static napi_value holds(napi_env env, napi_callback_info info) {
  napi_value argument, result = NULL;
  monitor *self = receiver(env, info, &argument);
  if (!self) return NULL;
  char *condition = copy(env, argument);
  int holds = netwatch_holds(self->handle, condition);
  holds < 0 ? napi_throw_error(env, strerrorname_np(-holds), netwatch_error_text()) : napi_get_boolean(env, holds, &result);
  free(condition);
  return result;
}

/* refer(monitor, isWanted): whether the process keeps running while the monitor is open */
static napi_value refer(napi_env env, napi_callback_info info) {
  napi_value argument;
  bool is_wanted = true;
  monitor *self = receiver(env, info, &argument);
  if (self && napi_get_value_bool(env, argument, &is_wanted) == napi_ok) (is_wanted ? uv_ref : uv_unref)((uv_handle_t *)&self->poll);
  return NULL;
}

static napi_value begin(napi_env env, napi_callback_info info) {
  napi_value argument, result = NULL;
  monitor *self = receiver(env, info, &argument);
  if (!self) return NULL;
  char *label = copy(env, argument);
  uint64_t request = netwatch_begin(self->handle, label);
  request ? napi_create_bigint_uint64(env, request, &result) : napi_throw_error(env, NULL, netwatch_error_text());
  free(label);
  return result;
}

static napi_value end(napi_env env, napi_callback_info info) {
  napi_value argument;
  uint64_t request;
  bool is_exact;
  monitor *self = receiver(env, info, &argument);
  if (self && napi_get_value_bigint_uint64(env, argument, &request, &is_exact) == napi_ok) netwatch_end(self->handle, request);
  return NULL;
}

NAPI_MODULE_INIT() {
#define METHOD(name, function) {name, 0, function, 0, 0, 0, napi_enumerable, 0}
  const napi_property_descriptor properties[] = {
      METHOD("open", open_monitor), METHOD("close", close_function), METHOD("line", line), METHOD("rulesFault", rules_fault),
      METHOD("description", description), METHOD("holds", holds),
      METHOD("refer", refer), METHOD("begin", begin), METHOD("end", end),
      {"version", 0, 0, 0, 0, text(env, netwatch_version()), napi_enumerable, 0}};
  napi_define_properties(env, exports, sizeof properties / sizeof *properties, properties);
  return exports;
}
