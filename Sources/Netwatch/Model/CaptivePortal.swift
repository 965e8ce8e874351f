/// What a network says about the login of this machine: the answer of its portal API (RFC 8908).
///
/// The answer is what the network claims. Whether the internet answers is ``NetworkPath/internet``.
public struct CaptivePortal: Hashable, Sendable {
  /// Whether the network holds the traffic of this machine back until somebody logs in.
  public let isCaptive: Bool
  /// The address of the login page, always with https. Nil if the network gives none that can be opened.
  public let loginPage: PortalURL?
  /// The address of a page about the place, such as the timetable of a train, always with https. Nil if the network gives none.
  public let venuePage: PortalURL?
  /// The number of seconds until the network lets nothing through any more, counted from the time of the path or record that has
  /// this. Nil if the network gives no end.
  public package(set) var secondsRemaining: Int?
  /// The number of bytes that the network still lets through, as of its answer. Nil if the network gives no limit.
  public let bytesRemaining: Int64?

  /// The longest time that is believed, in seconds: ten years.
  private static let longestTime: Int64 = 315_360_000

  /// Reads the body of an API's response, a JSON object (RFC 8908, section 5). Keys that RFC 8908 does not define are ignored.
  ///
  /// - Returns: Nil if the body is no such object, or does not say whether the network is captive.
  public init?(json: some Sequence<UInt8>) {
    guard let value = JSONValue(Array(json)[...]), let isCaptive = value["captive"]?.bool else { return nil }
    self.init(
      isCaptive: isCaptive, loginPage: value["user-portal-url"]?.string, venuePage: value["venue-info-url"]?.string,
      secondsRemaining: value["seconds-remaining"]?.integer, bytesRemaining: value["bytes-remaining"]?.integer)
  }

  /// Creates the state from values that are not checked yet. Addresses and numbers that cannot be used become nil.
  package init(
    isCaptive: Bool, loginPage: String?, venuePage: String?, secondsRemaining: Int64?, bytesRemaining: Int64?
  ) {
    self.isCaptive = isCaptive
    self.loginPage = loginPage.flatMap(PortalURL.init).flatMap { $0.isSecure ? $0 : nil }
    self.venuePage = venuePage.flatMap(PortalURL.init).flatMap { $0.isSecure ? $0 : nil }
    self.secondsRemaining = secondsRemaining.flatMap { $0 < 0 ? nil : Int(min($0, Self.longestTime)) }
    self.bytesRemaining = bytesRemaining.flatMap { $0 < 0 ? nil : $0 }
  }

  /// Whether another answer says the same, apart from what runs out as time goes by.
  func saysTheSame(as other: CaptivePortal) -> Bool {
    isCaptive == other.isCaptive && loginPage == other.loginPage && venuePage == other.venuePage
  }
}

/// Asks the portal API of a network (RFC 8908). See ``MonitorConfiguration/portalAPI``.
///
/// `import NetwatchPortal` has one, `HTTPPortalAPIClient`; write your own to ask in another way.
public protocol PortalAPIClient: Sendable {
  /// Asks the API once. The task is cancelled if the answer is not needed any more, or has not come within 15 seconds.
  ///
  /// - Parameters:
  ///   - address: The address of the API, always with https. Anybody in the network may have made it up.
  ///   - interface: The name of the link over which the network has given the address. Everything has to go over that link.
  ///   - nameServers: The name servers of that link, which have to be asked for the host of the address.
  /// - Returns: The answer; nil if none has come that can be trusted.
  func ask(_ address: PortalURL, over interface: String, nameServers: [InternetAddress]) async -> CaptivePortal?
}
