/// The text of a trace: everything that decides what a monitor publishes, in the order in which it came.
///
/// A line for each record, which ends with a newline, its fields parted by one space:
/// ```
/// netwatch-trace 2                      first of all: the version
/// set KEY [VALUE]                       what decides the lines beside the input; before everything else
/// namespaces KIND…                      those that netwatch had of its own, users or network or both; before the first start
/// start MONO WALL                       the beginning: everything is listed
/// turn MONO WALL CHANNEL                the socket CHANNEL became readable, and was read to its end
/// timer MONO WALL NAME                  a timer of the machine fired: hold, retry, resolution, host-routes, expiry
/// resumed MONO WALL                     the machine was suspended
/// resolved MONO WALL ADDRESS…           the addresses of the target's host, the best one first; none where it has none
/// unresolved MONO WALL                  nobody has answered for the target's host
/// sampling MONO WALL SUSPENDED          the counters of links are read; so long, in nanoseconds, the machine has been suspended
/// signal MONO WALL                      the signal of the WiFi network is read
/// quality MONO WALL SUSPENDED           the TCP connections are looked at, for the quality of the link
/// leases MONO WALL                      a DHCP client has written a lease
/// tcp COOKIE RTT ACKED SENT AGAIN TWICE AGE
///                                       a connection that leaves over the link: microseconds, bytes that were acknowledged,
///                                       segments that were sent, were sent again, and came twice, nanoseconds since the last
/// tcp end                               these were all connections; with cut instead of end, some may be missing
/// CHANNEL HEX                           one datagram that was read from CHANNEL
/// CHANNEL overrun                       the kernel dropped messages there
/// CHANNEL end                           nothing more could be read for now
/// CHANNEL failed CALL CODE              a call on it failed with this errno: recv, send, join, attach
/// device INDEX TRAIT…                   sysfs and the driver were asked about a link: wireless, tether, modem, type=TYPE
/// lease INDEX ADDRESS                   the DHCP lease of this address of a WiFi link says that the network is metered
/// ```
/// `start` to `leases` say what made netwatch work; what it read while it did follows them. A sample can also be taken while
/// netwatch works for another reason. `MONO` and `WALL` are the nanoseconds of the monotonic clock, and since 1970 in UTC.
/// `CHANNEL` is `event`, `reply`, `wireless-event`, `wireless-reply` or `counters`. Settings and types have `%` and two
/// hexadecimal digits for each byte that is no graphic character, and for `%` itself.
///
/// Questions are not recorded: from the same input the machine asks the same ones, and an answer bears the number of its
/// question. A version that asks something else cannot play the trace, and says where.
package enum TraceFormat {
  package static let header = "netwatch-trace 2"
  static let name = "netwatch-trace "
  /// A datagram has 64 KiB at most.
  static let longestLine = 1 << 20
  static let settingLimit = 1_000
  static let typePrefix = "type="
  static let namespaces = "namespaces"
  static let users = "users"
  static let network = "network"
  static let connection = "tcp"
  static let lease = "lease"
  static let end = "end"
  static let cut = "cut"
}
