/* A module of GIO: GNetworkMonitor by libnetwatch, at the extension point gio-network-monitor.
 *
 * A monitor has one source in the main context of the thread that has made it, and no thread of its own. Any thread may read the
 * properties: it reads what the kernel has said until then, even if nobody runs the main context. Signals are emitted in the main
 * context alone. */
#include <errno.h>
#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <gmodule.h>
#include <netwatch.h>
#include <unistd.h>

/* Above the monitors of GLib that ask the kernel (20) and systemd (25); below those that ask NetworkManager and the portal of a
 * sandbox (30), which GLib takes where these run. */
enum { PRIORITY = 27 };

/* The microseconds until a handle that could not be opened is tried again. */
enum { PAUSE = 1000000 };

/* What is known of the network. */
typedef struct {
  gboolean is_available;
  gboolean is_metered;
  /* The path in words, whose change is a change of the network; owned. */
  char *path;
} State;

typedef struct {
  GObject parent;
  /* Protects everything below, and the handle from two threads at a time. */
  GMutex lock;
  netwatch *handle;
  /* The process that has opened the handle. A child of it opens one of its own. */
  pid_t process;
  GSource *source;
  /* The descriptor of the handle in the source; NULL if there is none. */
  gpointer descriptor;
  State known;
  /* What the last signals have told. */
  State told;
} NetwatchMonitor;

typedef GObjectClass NetwatchMonitorClass;

enum { PROP_0, PROP_AVAILABLE, PROP_METERED, PROP_CONNECTIVITY };

static void be_monitor(GNetworkMonitorInterface *interface);
static void be_initable(GInitableIface *interface);

static GType netwatch_monitor_get_type(void);
G_DEFINE_DYNAMIC_TYPE_EXTENDED(NetwatchMonitor, netwatch_monitor, G_TYPE_OBJECT, 0,
                               G_IMPLEMENT_INTERFACE_DYNAMIC(G_TYPE_INITABLE, be_initable)
                                   G_IMPLEMENT_INTERFACE_DYNAMIC(G_TYPE_NETWORK_MONITOR, be_monitor))

/* The state */

static void read_state(NetwatchMonitor *self) {
  State *known = &self->known;
  known->is_available = netwatch_get_status(self->handle) > NETWATCH_NOT_REACHABLE;
  known->is_metered = g_strcmp0(netwatch_get(self->handle, "expensive"), "1") == 0;
  g_free(known->path);
  known->path = g_strdup(netwatch_get(self->handle, "description"));
}

static gboolean is_told(const NetwatchMonitor *self) {
  return self->known.is_available == self->told.is_available && self->known.is_metered == self->told.is_metered &&
         g_strcmp0(self->known.path, self->told.path) == 0;
}

/* Has the main context watch this descriptor in place of the one before; -1 for none. */
static void watch(NetwatchMonitor *self, int descriptor) {
  if (!self->source) return;
  if (self->descriptor) g_source_remove_unix_fd(self->source, self->descriptor);
  self->descriptor = descriptor < 0 ? NULL : g_source_add_unix_fd(self->source, descriptor, G_IO_IN);
}

/* Opens a handle in place of the one that there may be. If that fails, the state stays as it is. Requests of other programs do not
 * matter here, so no service is asked. */
static int open_handle(NetwatchMonitor *self) {
  static const char *const options[] = {"rules", "no-service", NULL};
  netwatch *handle;
  int error = netwatch_open(options, &handle);
  if (error < 0) return error;
  netwatch_close(self->handle);
  self->handle = handle;
  self->process = getpid();
  watch(self, netwatch_fd(handle));
  read_state(self);
  return 0;
}

/* Reads what the kernel has said. */
static void refresh(NetwatchMonitor *self) {
  int changes = self->process == getpid() ? netwatch_dispatch(self->handle) : -ECHILD;
  if (changes > 0) read_state(self);
  /* The messages of the kernel are lost for good, or this is a child of the process that has opened the handle. */
  if ((changes == -ENOLINK || changes == -ECHILD) && open_handle(self) < 0) {
    watch(self, -1);
    g_source_set_ready_time(self->source, g_get_monotonic_time() + PAUSE);
  }
}

static gboolean emit(GSource *source, GSourceFunc callback, gpointer context) {
  (void)callback;
  NetwatchMonitor *self = g_weak_ref_get(context);
  if (!self) return G_SOURCE_REMOVE;
  g_mutex_lock(&self->lock);
  g_source_set_ready_time(source, -1);
  refresh(self);
  gboolean is_news = !is_told(self);
  gboolean is_available = self->known.is_available;
  gboolean has_changed = is_available != self->told.is_available;
  gboolean has_other_costs = self->known.is_metered != self->told.is_metered;
  if (is_news) {
    g_free(self->told.path);
    self->told = self->known;
    self->told.path = g_strdup(self->known.path);
  }
  g_mutex_unlock(&self->lock);
  if (has_changed) g_object_notify(G_OBJECT(self), "network-available");
  if (has_other_costs) g_object_notify(G_OBJECT(self), "network-metered");
  if (has_changed) g_object_notify(G_OBJECT(self), "connectivity");
  if (is_news) g_signal_emit_by_name(self, "network-changed", is_available);
  g_object_unref(self);
  return G_SOURCE_CONTINUE;
}

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
  NetwatchMonitor *self = (NetwatchMonitor *)object;
  g_mutex_lock(&self->lock);
  /* There is no handle if init() has not run, or has failed. */
  if (self->handle) {
    refresh(self);
    /* Only the main context emits signals. */
    if (!is_told(self)) g_source_set_ready_time(self->source, 0);
  }
  switch (number) {
  case PROP_AVAILABLE: g_value_set_boolean(value, self->known.is_available); break;
  case PROP_METERED: g_value_set_boolean(value, self->known.is_metered); break;
  case PROP_CONNECTIVITY:
    /* Whether a login page is in the way is not known without a packet, and no packet is sent. */
    g_value_set_enum(value, self->known.is_available ? G_NETWORK_CONNECTIVITY_FULL : G_NETWORK_CONNECTIVITY_LOCAL);
    break;
  default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
  }
  g_mutex_unlock(&self->lock);
}

/* Whether a host can be reached */

/* Returns whether there is a way to this address. */
static gboolean reaches(GSocketAddress *address) {
  if (G_IS_UNIX_SOCKET_ADDRESS(address)) return TRUE;
  if (!G_IS_INET_SOCKET_ADDRESS(address)) return FALSE;
  GInetAddress *target = g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(address));
  if (g_inet_address_get_is_loopback(target)) return TRUE;
  char *text = g_inet_address_to_string(target);
  char *option = g_strconcat("target=", text, NULL);
  const char *const options[] = {option, "rules", "no-service", NULL};
  netwatch *handle;
  gboolean is_reachable = FALSE;
  if (netwatch_open(options, &handle) == 0) {
    is_reachable = netwatch_get_status(handle) > NETWATCH_NOT_REACHABLE;
    netwatch_close(handle);
  }
  g_free(option);
  g_free(text);
  return is_reachable;
}

static GError *no_way(void) { return g_error_new_literal(G_IO_ERROR, G_IO_ERROR_HOST_UNREACHABLE, "Host unreachable"); }

static gboolean can_reach(GNetworkMonitor *monitor, GSocketConnectable *connectable, GCancellable *cancellable, GError **error) {
  (void)monitor;
  GSocketAddressEnumerator *addresses = g_socket_connectable_proxy_enumerate(connectable);
  GError *failure = NULL;
  gboolean is_reachable = FALSE;
  GSocketAddress *address;
  while (!is_reachable && (address = g_socket_address_enumerator_next(addresses, cancellable, &failure))) {
    is_reachable = reaches(address);
    g_object_unref(address);
  }
  g_object_unref(addresses);
  if (is_reachable) return TRUE;
  g_propagate_error(error, failure ? failure : no_way());
  return FALSE;
}

static void next_address(GObject *addresses, GAsyncResult *result, gpointer context) {
  GTask *task = context;
  GError *failure = NULL;
  GSocketAddress *address = g_socket_address_enumerator_next_finish(G_SOCKET_ADDRESS_ENUMERATOR(addresses), result, &failure);
  if (address && !reaches(address)) {
    g_socket_address_enumerator_next_async(G_SOCKET_ADDRESS_ENUMERATOR(addresses), g_task_get_cancellable(task), next_address, task);
  } else {
    if (address) {
      g_task_return_boolean(task, TRUE);
    } else {
      g_task_return_error(task, failure ? failure : no_way());
    }
    g_object_unref(task);
  }
  g_clear_object(&address);
}

static void can_reach_async(GNetworkMonitor *monitor, GSocketConnectable *connectable, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer context) {
  GTask *task = g_task_new(monitor, cancellable, callback, context);
  g_task_set_source_tag(task, can_reach_async);
  GSocketAddressEnumerator *addresses = g_socket_connectable_proxy_enumerate(connectable);
  g_socket_address_enumerator_next_async(addresses, cancellable, next_address, task);
  g_object_unref(addresses);
}

static gboolean can_reach_finish(GNetworkMonitor *monitor, GAsyncResult *result, GError **error) {
  g_return_val_if_fail(g_task_is_valid(result, monitor), FALSE);
  return g_task_propagate_boolean(G_TASK(result), error);
}

/* The object */

static void forget(gpointer reference) {
  g_weak_ref_clear(reference);
  g_free(reference);
}

static gboolean init(GInitable *initable, GCancellable *cancellable, GError **error) {
  static GSourceFuncs functions = {.dispatch = emit};
  NetwatchMonitor *self = (NetwatchMonitor *)initable;
  (void)cancellable;
  if (self->handle) return TRUE;
  int code = open_handle(self);
  if (code < 0) {
    /* GLib then takes the monitor of the next priority. */
    g_set_error(error, G_IO_ERROR, g_io_error_from_errno(-code), "netwatch: %s", netwatch_error_text());
    return FALSE;
  }
  self->told = self->known;
  self->told.path = g_strdup(self->known.path);
  self->source = g_source_new(&functions, sizeof(GSource));
  g_source_set_static_name(self->source, "netwatch");
  /* Another thread may release the monitor while the main context is in emit(). */
  GWeakRef *reference = g_new0(GWeakRef, 1);
  g_weak_ref_init(reference, self);
  g_source_set_callback(self->source, NULL, reference, forget);
  watch(self, netwatch_fd(self->handle));
  GMainContext *context = g_main_context_ref_thread_default();
  g_source_attach(self->source, context);
  g_main_context_unref(context);
  return TRUE;
}

static void finalize(GObject *object) {
  NetwatchMonitor *self = (NetwatchMonitor *)object;
  if (self->source) {
    g_source_destroy(self->source);
    g_source_unref(self->source);
  }
  netwatch_close(self->handle);
  g_free(self->known.path);
  g_free(self->told.path);
  g_mutex_clear(&self->lock);
  G_OBJECT_CLASS(netwatch_monitor_parent_class)->finalize(object);
}

static void netwatch_monitor_init(NetwatchMonitor *self) {
  g_mutex_init(&self->lock);
}

static void netwatch_monitor_class_init(NetwatchMonitorClass *class) {
  class->get_property = get_property;
  class->finalize = finalize;
  g_object_class_override_property(class, PROP_AVAILABLE, "network-available");
  g_object_class_override_property(class, PROP_METERED, "network-metered");
  g_object_class_override_property(class, PROP_CONNECTIVITY, "connectivity");
}

static void netwatch_monitor_class_finalize(NetwatchMonitorClass *class) { (void)class; }

static void be_initable(GInitableIface *interface) { interface->init = init; }

static void be_monitor(GNetworkMonitorInterface *interface) {
  interface->can_reach = can_reach;
  interface->can_reach_async = can_reach_async;
  interface->can_reach_finish = can_reach_finish;
}

/* The module, whose file is libgionetwatch.so. */

G_MODULE_EXPORT void g_io_netwatch_load(GIOModule *module);
G_MODULE_EXPORT void g_io_netwatch_unload(GIOModule *module);
G_MODULE_EXPORT char **g_io_netwatch_query(void);

void g_io_netwatch_load(GIOModule *module) {
  /* The library contains a Swift runtime, which cannot be unloaded. */
  g_type_module_use(G_TYPE_MODULE(module));
  netwatch_monitor_register_type(G_TYPE_MODULE(module));
  g_io_extension_point_implement(G_NETWORK_MONITOR_EXTENSION_POINT_NAME, netwatch_monitor_get_type(), "netwatch", PRIORITY);
}

void g_io_netwatch_unload(GIOModule *module) { (void)module; }

char **g_io_netwatch_query(void) {
  char *points[] = {G_NETWORK_MONITOR_EXTENSION_POINT_NAME, NULL};
  return g_strdupv(points);
}
