/*
 * libnetwatch: is this machine (or a host) reachable, over what kind of link, and is the network in use?
 *
 * One descriptor to poll, no thread, no D-Bus. netwatch(3) has an example; README.md says how to install it.
 *
 * Threads. A handle is for one thread at a time. netwatch_begin() and netwatch_end() may be called from any thread, also while
 * another one is in netwatch_dispatch(), but not while or after netwatch_close() runs. Different handles are independent.
 *
 * Errors. Functions that return an int return a negative errno value where they fail; netwatch_error_text() then has a
 * sentence about it. A handle or a pointer that is NULL is answered with -EINVAL, or with the value that the function returns
 * where it fails. No call changes errno. A process that is out of memory is ended by the runtime inside; nothing else ends it.
 *
 * Manners. The library starts no process and no thread, prints nothing unless NETWATCH_DEBUG is set, and changes no signal
 * handler, signal mask, limit, locale or working directory. All its descriptors are close-on-exec.
 *
 * Fork. In a child that fork(2) has made, a handle of the parent is dead: functions that return an int return -ECHILD,
 * netwatch_get_status() NETWATCH_UNKNOWN, netwatch_begin() 0, netwatch_get() and netwatch_line() NULL, netwatch_fd() -1, and
 * netwatch_end() does nothing. netwatch_close() closes the child's copies of the descriptors and leaves the parent alone. The
 * child may open a handle of its own.
 */
#ifndef NETWATCH_H
#define NETWATCH_H

#include <stdint.h>

#define NETWATCH_VERSION_MAJOR 0
#define NETWATCH_VERSION_MINOR 1

#if defined(__GNUC__)
#define NETWATCH_API __attribute__((visibility("default")))
#else
#define NETWATCH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One monitor. */
typedef struct netwatch netwatch;

/* What netwatch_get_status() returns, with the numbers of AFNetworking. */
enum {
  NETWATCH_UNKNOWN = -1,      /* not known: a host's name is still looked up, or nobody answers; the reason is "unresolved" */
  NETWATCH_NOT_REACHABLE = 0, /* there is no way there */
  NETWATCH_WWAN = 1,          /* over a cellular link */
  NETWATCH_WIFI = 2           /* over any other link, wired ones among them */
};

/*
 * Opens a monitor and stores it in *out; the caller owns it and gives it back with netwatch_close().
 *
 * options is NULL, or an array of strings "name=value" that ends with NULL. Names and values are those of the command's
 * options, without the dashes: target, interface, ignore, wwan, tunnel, hold, link-local, interfaces, no-service, activity,
 * activity-ignore, activity-interval, activity-patience. An option that may be given more often may be so here. A plain flag
 * (link-local, interfaces, no-service) is given as "name", "name=yes" or "name=no". link-local, which the command does not have,
 * lets an address of 169.254/16 do.
 *
 * For the internet or an address the state is known when this returns. It never waits for a name, a service or a network; only
 * if the kernel says that it has no memory for the moment, it tries again for up to five seconds.
 *
 * Returns 0, or a negative errno value, and then *out is NULL: -EINVAL for an option that is not known or makes no sense,
 * -EMFILE or -ENFILE where no descriptor is left, -ENOMEM where the kernel has no memory left, -EACCES or -EPERM where netlink
 * is forbidden, and other values of the kernel's.
 */
NETWATCH_API int netwatch_open(const char *const *options, netwatch **out);

/*
 * Closes a monitor, and ends its requests. NULL is allowed; closing twice is undefined. Within a callback it takes effect when
 * netwatch_dispatch() returns, and the callback is not called again.
 */
NETWATCH_API void netwatch_close(netwatch *handle);

/*
 * Returns a descriptor that becomes readable (POLLIN) when netwatch_dispatch() has something to do, or a negative errno value.
 * It is the library's: poll it, and neither read nor close it. It stays the same until netwatch_close().
 */
NETWATCH_API int netwatch_fd(const netwatch *handle);

/*
 * Reads what is there without waiting, and calls the callback in this thread once for each line that `netwatch --follow` would
 * print.
 *
 * Returns the number of those changes, or a negative errno value: -EDEADLK within a callback; -ENOLINK when the kernel's news
 * are lost for good, and then the state stays as it was and the descriptor is never readable again.
 */
NETWATCH_API int netwatch_dispatch(netwatch *handle);

/*
 * Has netwatch_dispatch() call callback(handle, context) for each change; NULL for none. There is one: setting another one
 * replaces it. It is not called for the state at netwatch_open(). Within it everything is allowed but netwatch_dispatch().
 * The library never looks at context.
 */
NETWATCH_API void netwatch_on_change(netwatch *handle, void (*callback)(netwatch *handle, void *context), void *context);

/* Returns the status at the last netwatch_dispatch(), or netwatch_open(): one of NETWATCH_UNKNOWN to NETWATCH_WIFI. */
NETWATCH_API int netwatch_get_status(const netwatch *handle);

/*
 * Returns a field of the state as text: "medium", "interface", "reason", "vpn", "ssid", "ipv4", "ipv6", "gateway4", "gateway6",
 * "expensive", "visible", "in_flight". Booleans are "1" or "0", numbers decimal. "vpn" is the VPN's interface, and "reason" that
 * of the line.
 *
 * NULL means that there is none now, and netwatch_error_text() is NULL too; or that there is no such field, and
 * netwatch_error_text() says so. The text belongs to the handle and is valid until its next netwatch_dispatch() or
 * netwatch_close(); netwatch_begin() and netwatch_end() do not change it.
 */
NETWATCH_API const char *netwatch_get(const netwatch *handle, const char *field);

/*
 * Returns the whole state as one JSON line of the stream, as netwatch-events(5) describes it, without the line feed; NULL only
 * where it failed. It belongs to the handle and is valid as long as what netwatch_get() returns.
 */
NETWATCH_API const char *netwatch_line(const netwatch *handle);

/*
 * Announces a request: something that this process waits for from the network. The indicator ("visible") is shown one second
 * after the first one has begun, and hidden 0.17 s after the last one has ended. A netwatch service, if there is one, is told.
 *
 * label says what it is, in UTF-8; NULL for none. It is copied.
 *
 * Returns a number for netwatch_end(), or 0 where it failed. May be called from any thread, and never calls the callback.
 */
NETWATCH_API uint64_t netwatch_begin(netwatch *handle, const char *label);

/*
 * Ends a request. Ending one twice, and ending 0, does nothing. May be called from any thread, and never calls the callback.
 */
NETWATCH_API void netwatch_end(netwatch *handle, uint64_t request);

/*
 * Returns a sentence about the last failure of this library in this thread; NULL if its last call here has succeeded. It
 * belongs to the library and is valid until the next call in this thread.
 */
NETWATCH_API const char *netwatch_error_text(void);

/* Returns the version of the library that runs, as "0.1.0": it may be newer than NETWATCH_VERSION_MAJOR and _MINOR say. */
NETWATCH_API const char *netwatch_version(void);

#ifdef __cplusplus
}
#endif

#endif
