/// The text format of a trace: all input that determines what a monitor publishes, in the order in which it came.
///
/// Each record is one line that ends with a newline. The fields are separated by one space:
/// ```
/// netwatch-trace 2                      the first line: the version
/// set KEY [VALUE]                       a setting that determines the output beside the input; before everything else
/// namespaces KIND…                      netwatch's own namespaces: users, network or both; before the first start
/// start MONO WALL                       the beginning: everything is listed
/// turn MONO WALL CHANNEL                the socket CHANNEL became readable, and was read until it was empty
/// timer MONO WALL NAME                  a timer of the machine fired: hold, retry, resolution, host-routes, expiry,
///                                       recheck
/// resumed MONO WALL                     the machine was suspended
/// resolved MONO WALL ADDRESS…           the addresses of the target's host, the best one first; none if the host has none
/// unresolved MONO WALL                  no name server has answered for the target's host
/// sampling MONO WALL SUSPENDED          the counters of links are read; SUSPENDED is the time in suspend, in nanoseconds
/// signal MONO WALL                      the signal of the WiFi network is read
/// quality MONO WALL SUSPENDED           the TCP connections are listed, for the quality of the link
/// leases MONO WALL                      a DHCP client has written a lease
/// found MONO WALL REASON                something else has changed, such as cable_changed, or the network namespace is gone
/// tcp COOKIE RTT ACKED SENT AGAIN TWICE AGE
///                                       a connection over the link: round-trip time in microseconds, bytes acknowledged,
///                                       segments sent, retransmitted and received twice, nanoseconds since the last was sent
/// tcp end                               the list of connections is complete; with cut instead of end, some may be missing
/// CHANNEL HEX                           one datagram that was read from CHANNEL
/// CHANNEL overrun                       the kernel dropped messages for CHANNEL
/// CHANNEL end                           CHANNEL had nothing more to read
/// CHANNEL failed CALL CODE              a call on CHANNEL failed with this errno: recv, send, join, attach
/// device INDEX TRAIT…                   sysfs and the driver were asked about a link: wireless, tether, modem, rfkill=BLOCK,
///                                       type=TYPE
/// lease INDEX ADDRESS                   the DHCP lease of this address of a WiFi link marks the network as metered
/// news REASON                           the change of links is news in this respect, such as cable_changed
/// findings JSON                         what was found out apart from netlink, from now on: members of lines
/// ```
/// The records from `start` to `found` tell what made netwatch work. The data that it then read follows them. A sample can
/// also be taken while netwatch works for another reason. `MONO` and `WALL` are the nanoseconds of the monotonic clock, and
/// those since 1970 in UTC. `CHANNEL` is `event`, `reply`, `wireless-event`, `wireless-reply` or `counters`. In settings and
/// types, each byte that is not a graphic character is written as `%` and two hexadecimal digits, and so is `%` itself.
///
/// Requests are not recorded. From the same input the machine makes the same requests, and a response has the number of its
/// request. A version of netwatch that makes other requests cannot play the trace, and reports the line.
package enum TraceFormat {
  /// The first line of a trace.
  package static let header = "netwatch-trace 2"
  static let name = "netwatch-trace "
  /// The longest line in bytes; a datagram has at most 64 KiB.
  static let longestLine = 1 << 20
  static let settingLimit = 1_000
  static let typePrefix = "type="
  static let blockPrefix = "rfkill="
  static let namespaces = "namespaces"
  static let users = "users"
  static let network = "network"
  static let connection = "tcp"
  static let lease = "lease"
  static let news = "news"
  static let findings = "findings"
  static let end = "end"
  static let cut = "cut"
}
