/// The kind of traffic of a session's connections, for the kernel's queues (SO_PRIORITY of socket(7)) and for the networks that heed the
/// mark in each packet (DSCP, RFC 2474). The marks are those of RFC 4594 and RFC 8622.
///
/// Most of the internet ignores the marks; home routers, WiFi and company networks often do not.
public struct HTTPServiceType: Hashable, Sendable {
  /// The mark of the packets, from 0 to 63.
  let dscp: CInt
  /// The band of the kernel's default queue: 0 for usual traffic, 1 to 6 as in TC_PRIO_*.
  let priority: CInt

  /// Usual traffic.
  public static let standard = HTTPServiceType(dscp: 0, priority: 0)
  /// Traffic for which nobody waits, such as a backup: the lower-effort class (LE).
  public static let background = HTTPServiceType(dscp: 1, priority: 1)
  /// Answers that somebody waits for: low-latency data (AF21).
  public static let responsiveData = HTTPServiceType(dscp: 18, priority: 4)
  /// Video and sound that are buffered: multimedia streaming (AF31).
  public static let video = HTTPServiceType(dscp: 26, priority: 4)
  /// Conversations with a picture: multimedia conferencing (AF41).
  public static let responsiveVideo = HTTPServiceType(dscp: 34, priority: 6)
  /// Speech: telephony (EF).
  public static let voice = HTTPServiceType(dscp: 46, priority: 6)
  /// The begin and the end of calls: signaling (CS5).
  public static let callSignaling = HTTPServiceType(dscp: 40, priority: 6)
}
