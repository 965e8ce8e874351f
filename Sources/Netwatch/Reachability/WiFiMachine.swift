/// Decides what is told of a WiFi network between two paths: a signal that has changed, and each roam once. Pure.
///
/// nl80211 tells whom a radio has joined before or after rtnetlink tells that the link works again, so a roam waits until a path
/// over its radio is published.
package struct WiFiMachine: Sendable {
  package enum Event: Sendable {
    /// A path was published, over a network of the radio with this index; nil where none carries it.
    case published(Association?, WiFiConnection?)
    /// nl80211 says that a radio has joined an access point.
    case associated(Association, accessPoint: UInt64, WiFiConnection?)
    /// nl80211 may have said so: messages were lost.
    case associationsLost
    /// The driver was asked; nil where it does not answer.
    case sampled(WiFiConnection?)
  }

  /// The network of a radio.
  package struct Association: Hashable, Sendable {
    /// The index of the radio's link.
    package let radio: Int32
    package let ssid: SSID?

    package init(radio: Int32, ssid: SSID?) {
      self.radio = radio
      self.ssid = ssid
    }
  }

  /// What has to be published.
  package struct News: Hashable, Sendable {
    package let connection: WiFiConnection
    /// `.signalChanged` or `.roamed`.
    package let reason: ReachabilityReason
  }

  private struct Home: Hashable {
    let association: Association
    /// The one that was told last; nil where the driver does not say.
    var accessPoint: UInt64?
    /// Those that were joined since then, and were not told.
    var roams: [UInt64] = []
    /// Since when no path leads over it; nil while one does.
    var lost: Duration?
    /// ``accessPoint`` may be out of date.
    var isUnsure = false
  }

  /// Who joins an access point so long after he left another has not roamed, but come back.
  private static let longestRoam = Duration.seconds(10)
  /// More are not remembered while no path can be told.
  private static let roamLimit = 16

  package var signalChanges: WiFiReporting.SignalChanges?
  private var home: Home?
  /// The signal that was told last.
  private var told: WiFiSignal?

  package init() {}

  /// A WiFi network carries the traffic, and its driver tells the signal.
  package var isSampling: Bool { signalChanges != nil && home != nil && home?.lost == nil && told != nil }

  package mutating func handle(_ event: Event, at time: Duration) -> [News] {
    switch event {
    case .published(nil, _):
      if home?.lost == nil { home?.lost = time }
      return []
    case .published(let association?, let connection):
      if home?.association != association { home = Home(association: association) }
      home?.lost = nil
      if home?.accessPoint == nil { home?.accessPoint = connection?.accessPointAddress }
      told = connection?.signal
      return roams(connection)
    case .associated(let association, let accessPoint, let connection):
      join(accessPoint, of: association, at: time)
      return roams(connection)
    case .associationsLost:
      home?.isUnsure = true
      return []
    case .sampled(let connection):
      guard let connection, let home, home.lost == nil else { return [] }
      if home.isUnsure { rejoin(connection) }
      let roams = roams(connection)
      return roams.isEmpty ? change(connection) : roams
    }
  }

  private mutating func join(_ accessPoint: UInt64, of association: Association, at time: Duration) {
    guard var home, home.association == association else { return }
    let hasComeBack = home.lost.map { time - $0 > Self.longestRoam } ?? false
    if hasComeBack || home.accessPoint == nil {
      (home.accessPoint, home.roams) = (accessPoint, [])
    } else if accessPoint != home.roams.last ?? home.accessPoint {
      home.roams.append(accessPoint)
      if home.roams.count > Self.roamLimit { home.roams.removeFirst() }
    }
    self.home = home
  }

  private mutating func rejoin(_ connection: WiFiConnection) {
    home?.isUnsure = false
    guard let accessPoint = connection.accessPointAddress, let former = home?.accessPoint, former != accessPoint else {
      return
    }
    home?.roams = [accessPoint]
  }

  /// - Parameter connection: as it is now, which is that of the last roam at most.
  private mutating func roams(_ connection: WiFiConnection?) -> [News] {
    guard let home, home.lost == nil, let last = home.roams.last else { return [] }
    self.home?.roams = []
    self.home?.accessPoint = last
    return home.roams.map { accessPoint in
      var joined = WiFiConnection()
      joined.accessPointAddress = accessPoint
      if let connection, connection.accessPointAddress == accessPoint {
        joined = connection
        told = connection.signal
      }
      return News(connection: joined, reason: .roamed)
    }
  }

  private mutating func change(_ connection: WiFiConnection) -> [News] {
    guard let signal = connection.signal, signalChanges?.hasNews(signal, after: told) == true else { return [] }
    told = signal
    return [News(connection: connection, reason: .signalChanged)]
  }
}
