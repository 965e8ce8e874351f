/*
 * libnetwatch: is this machine (or a host) reachable, over what kind of link, and is the network in use?
 *
 * A monitor has one descriptor to poll, and needs no thread and no D-Bus. netwatch(3) has an example. README.md describes how to
 * build the library.
 *
 * Threads. Only one thread at a time may use a handle, with two exceptions: netwatch_begin() and netwatch_end() may be called from
 * any thread, also while another thread is in netwatch_dispatch(), but not while netwatch_close() runs or after it. Different
 * handles are independent.
 *
 * Errors. A function that returns an int returns a negative errno value if it fails, except netwatch_get_status(), which
 * returns NETWATCH_UNKNOWN; netwatch_error_text() then returns a sentence about the failure. If a handle or a required pointer is NULL, the function returns -EINVAL, or the value that it returns for a
 * failure. No call changes errno. If the process runs out of memory, the Swift runtime in the library ends the process. Nothing
 * else in the library ends it.
 *
 * Manners. The library starts no thread, and prints nothing unless NETWATCH_DEBUG is set. It starts no process unless the option
 * probe is given: each probe is then a child of the caller's process, netwatch-http, for which only the library waits. It changes
 * no signal handler, signal mask, limit, locale or working directory. All its descriptors are close-on-exec.
 *
 * Fork. In a child that fork(2) has made, a handle of the parent is dead. Functions that return an int then return -ECHILD, except
 * that netwatch_get_status() returns NETWATCH_UNKNOWN and netwatch_fd() returns -1. netwatch_get() and netwatch_line() return
 * NULL, netwatch_begin() returns 0, and netwatch_end() does nothing. netwatch_close() closes the child's copies of the descriptors
 * and does not affect the parent. The child may open a handle of its own.
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

/* A monitor of the network. netwatch_open() makes one, and netwatch_close() frees it. */
typedef struct netwatch netwatch;

/* The statuses that netwatch_get_status() returns. The numbers are those of AFNetworking. */
enum {
  NETWATCH_UNKNOWN = -1,      /* the call failed, or the addresses of a host are not known: the reason is then "unresolved" */
  NETWATCH_NOT_REACHABLE = 0, /* there is no way to the target */
  NETWATCH_WWAN = 1,          /* reachable over a cellular link */
  NETWATCH_WIFI = 2           /* reachable over any other link, including wired links */
};

/*
 * Opens a monitor and stores it in *out. The caller owns the monitor and closes it with netwatch_close().
 *
 * options is NULL, or an array of strings "name=value" that ends with NULL. Names and values are those of the command's options,
 * without the dashes: target, interface, ignore, wwan, tunnel, expensive, not-expensive, hold, link-local, rules, interfaces,
 * network-id, no-service, activity, activity-ignore, activity-interval, activity-patience, probe, probe-expect, probe-interval,
 * probe-timeout, stages, nudge, announced, portal-api, cable, each, quality, traffic, traffic-interval, signal, wifi-details, bssid. An
 * option that the command accepts several times may be repeated. A flag, such as link-local, is given as "name", "name=yes" or "name=no". The
 * library copies what it needs of the strings.
 *
 * With rules, the library judges by the files of netwatch-rules(5), as the command does; a probe in them does not count. With
 * probe, it asks this URL whether the internet answers, by the program netwatch-http: beside the running program, in a folder of
 * PATH, or in ../lib/netwatch beside one of these. stages, quality and traffic add figures to the state, each change of which is
 * reported: traffic changes each second.
 *
 * For the internet or an address, the state is known when the function returns. The function never waits for a name, a service or a
 * network. If the kernel reports that it is out of memory, the function tries again for up to five seconds.
 *
 * Returns 0, or a negative errno value; *out is then NULL. The value is -EINVAL if an option is not known or makes no sense,
 * -ENOENT if probe is given and netwatch-http is not there or cannot run, -EMFILE or -ENFILE if no descriptor is left, -ENOMEM if
 * the kernel has no memory left, -EACCES or -EPERM if netlink is forbidden, or another value from the kernel.
 */
NETWATCH_API int netwatch_open(const char *const *options, netwatch **out);

/*
 * Closes a monitor and ends its requests. NULL is allowed. Closing a monitor twice is undefined. If you call this function within a
 * callback, the monitor is closed only when netwatch_dispatch() returns, and the callback is not called again.
 */
NETWATCH_API void netwatch_close(netwatch *handle);

/*
 * Returns a descriptor that becomes readable (POLLIN) when netwatch_dispatch() has something to do, or a negative errno value.
 * The descriptor belongs to the library: poll it, but do not read from it or close it. It stays the same until netwatch_close().
 */
NETWATCH_API int netwatch_fd(const netwatch *handle);

/*
 * Reads what is there without waiting, and calls the callback in this thread once for each change. A change is a line that
 * `netwatch --follow` would print; with stages, also each change of a stage, and with network-id, that the ID has become known. You
 * may call this function at any time.
 *
 * Returns the number of changes, which may be 0, or a negative errno value: -EDEADLK within a callback, or -ENOLINK if the kernel's
 * messages are lost for good. After -ENOLINK, the state stays as it was and the descriptor is never readable again.
 */
NETWATCH_API int netwatch_dispatch(netwatch *handle);

/*
 * Sets the function that netwatch_dispatch() calls as callback(handle, context) for each change. A monitor has one callback:
 * another call replaces it, and NULL removes it. The callback is not called for the state at netwatch_open(). Within the callback,
 * every function except netwatch_dispatch() is allowed. The library does not use context and does not free it.
 */
NETWATCH_API void netwatch_on_change(netwatch *handle, void (*callback)(netwatch *handle, void *context), void *context);

/* Returns the status after the last netwatch_dispatch(), or at netwatch_open(): one of NETWATCH_UNKNOWN to NETWATCH_WIFI. */
NETWATCH_API int netwatch_get_status(const netwatch *handle);

/*
 * Returns a field of the state as text: "medium", "scope", "interface", "reason", "description", "vpn", "ssid", "ipv4", "ipv6",
 * "gateway4", "gateway6", "expensive", "expensive_because", "constrained", "network_id", "internet", "portal_url", "portal_api",
 * "name_servers", "nat64_prefix", "translated_by", "speed_mbps", "possible_mbps", "no_carrier_because", "wifi_end", "uplinks", "captive",
 * "login_url", "session_seconds", "session_bytes", "stage", "rtt_ms", "loss_percent", "rx_bps", "tx_bps", "signal_dbm", "visible",
 * "in_flight", "rules_fault". Booleans are "1" or "0", and numbers are decimal. "scope" is "local" if nothing leads to the internet, but other machines of the own network are
 * known. "vpn" is the name of the VPN's interface. "reason" is the reason of the line that netwatch_line() returns, and
 * "description" the path in words, such as "wired eth0, 10.0.0.2; via VPN tun0" or "not reachable: no carrier". "wifi_end" is a
 * sentence about why a WiFi network was left or not joined. "rules_fault" is a sentence about the first line of the files of rules that is not understood, with its file and number. Some fields need an
 * option: "network_id" needs network-id, "internet" and "portal_url" need probe, "portal_api", "name_servers",
 * "nat64_prefix" and "translated_by" need announced, "speed_mbps", "possible_mbps" (the highest speed that both ends of the cable
 * offer) and "no_carrier_because" need cable, "uplinks" (the names of the interfaces that carry the traffic or could, between spaces) needs each, "captive", "login_url", "session_seconds" and "session_bytes" need portal-api, "stage"
 * (the first one that fails) needs stages, "rtt_ms" and "loss_percent" need quality, and "rx_bps" and "tx_bps" need traffic.
 *
 * If the result is NULL and netwatch_error_text() is also NULL, the field has no value now. If the result is NULL and
 * netwatch_error_text() returns a sentence, the call has failed, for example because there is no such field. The text belongs to
 * the handle and is valid until the next netwatch_dispatch() or netwatch_close() of the handle. netwatch_begin() and
 * netwatch_end() do not change it.
 */
NETWATCH_API const char *netwatch_get(const netwatch *handle, const char *field);

/*
 * Returns 1 if a condition holds for the state, 0 if it does not, or a negative errno value. The conditions are those of the
 * command's option --for: reachable, not-reachable, wifi, wwan, wired, unmetered, vpn, not-vpn, internet, medium=MEDIUM, ssid=NAME,
 * network=ID, stage=STAGE, uplink=MEDIUM; netwatch(1) describes them. What is not known does not hold. The value is -EINVAL if there
 * is no such condition, or if it needs an option that netwatch_open() has not got: internet, stage=dns and stage=internet need probe,
 * each stage= needs stages, network= needs network-id, and uplink= needs each.
 */
NETWATCH_API int netwatch_holds(const netwatch *handle, const char *condition);

/*
 * Returns the whole state as one line of JSON, without the line feed. netwatch-events(5) describes the line. The result is NULL
 * only if the call has failed. The text belongs to the handle and is valid until the next netwatch_dispatch() or netwatch_close()
 * of the handle.
 */
NETWATCH_API const char *netwatch_line(const netwatch *handle);

/*
 * Announces a request: something that this process waits for from the network. The indicator ("visible") is shown one second after
 * the first request has begun, if a request runs then, and hidden 0.17 seconds after the last request has ended. If a netwatch
 * service runs, the request is reported to it.
 *
 * label is a short description of the request in UTF-8, or NULL. The library copies it.
 *
 * Returns a number for netwatch_end(), or 0 if it has failed. May be called from any thread. It never calls the callback.
 */
NETWATCH_API uint64_t netwatch_begin(netwatch *handle, const char *label);

/*
 * Ends a request. If the request has already ended, or request is 0, the function does nothing. May be called from any thread. It
 * never calls the callback.
 */
NETWATCH_API void netwatch_end(netwatch *handle, uint64_t request);

/*
 * Returns a sentence about the failure of the last call of this library in this thread, or NULL if that call has succeeded. The
 * text belongs to the library and is valid until the next call in this thread.
 */
NETWATCH_API const char *netwatch_error_text(void);

/*
 * Returns the version of the library that the process has loaded, such as "0.1.0". It may be newer than the version of this
 * header, which is in NETWATCH_VERSION_MAJOR and NETWATCH_VERSION_MINOR. The text is valid as long as the process runs.
 */
NETWATCH_API const char *netwatch_version(void);

#ifdef __cplusplus
}
#endif

#endif
