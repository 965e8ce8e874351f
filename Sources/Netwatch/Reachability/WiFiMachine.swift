/// Decides what is published about a WiFi network between two paths: a changed signal, and each roam once, but a storm of roams only
/// once a minute. Pure.
///
/// nl80211 reports which access point a radio has joined, either before or after rtnetlink reports that the link works again.
/// A roam therefore waits until a path over its radio is published.
package struct WiFiMachine: Sendable {
  package enum Event: Sendable {
    /// A path was published, over a network of the radio with this index. Nil if no radio carries it.
    case published(Association?, WiFiConnection?)
    /// nl80211 reports that a radio has joined an access point.
    case associated(Association, accessPoint: UInt64, WiFiConnection?)
    /// nl80211 may have reported a join, but messages were lost.
    case associationsLost
    /// The driver was asked. Nil if it does not answer.
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
    /// The access point that was reported last. Nil if the driver does not report it.
    var accessPoint: UInt64?
    /// The access points that were joined since then and were not published yet.
    var roams: [UInt64] = []
    /// The time since which no path leads over the network. Nil while one does.
    var lost: Duration?
    /// Whether ``accessPoint`` may be out of date.
    var isUnsure = false
  }

  /// Joining an access point this long after leaving another one is no roam but a return.
  private static let longestRoam = Duration.seconds(10)
  /// More roams than this in ``stormInterval`` are a storm, of which only the last is told, once in that time.
  private static let mostRoams = 4
  private static let stormInterval = Duration.seconds(60)
  private static let hour = Duration.seconds(3_600)
  /// At most this many roams of the last hour are counted.
  private static let countLimit = 1_000

  package var signalChanges: WiFiReporting.SignalChanges?
  private var home: Home?
  /// The signal that was published last.
  private var published: WiFiSignal?
  /// The times of the roams in the last hour.
  private var roamTimes: [Duration] = []
  /// When a roam was told last.
  private var lastTold: Duration?
  /// Whether roams wait because they are a storm.
  private var isStorm = false

  package init() {}

  /// Whether the driver is to be asked: a WiFi network carries the traffic, its signal is wanted, and the driver reports it.
  package var isSampling: Bool { signalChanges != nil && home != nil && home?.lost == nil && published != nil }

  /// When the roams that wait, because they are a storm, are to be told by a ``Event/sampled(_:)``; nil if none wait.
  package var deadline: Duration? {
    guard home?.lost == nil, home?.roams.isEmpty == false else { return nil }
    return lastTold.map { $0 + Self.stormInterval }
  }

  package mutating func handle(_ event: Event, at time: Duration) -> [News] {
    switch event {
    case .published(nil, _):
      if home?.lost == nil { home?.lost = time }
      return []
    case .published(let association?, let connection):
      if home?.association != association { (home, isStorm) = (Home(association: association), false) }
      home?.lost = nil
      if home?.accessPoint == nil { home?.accessPoint = connection?.accessPointAddress }
      published = connection?.signal
      return roams(connection, at: time)
    case .associated(let association, let accessPoint, let connection):
      join(accessPoint, of: association, at: time)
      return roams(connection, at: time)
    case .associationsLost:
      home?.isUnsure = true
      return []
    case .sampled(let connection):
      guard let home, home.lost == nil else { return [] }
      if let connection, home.isUnsure { rejoin(connection, at: time) }
      let roams = roams(connection, at: time)
      return roams.isEmpty ? connection.map { change($0) } ?? [] : roams
    }
  }

  private mutating func join(_ accessPoint: UInt64, of association: Association, at time: Duration) {
    guard var home, home.association == association else { return }
    let hasComeBack = home.lost.map { time - $0 > Self.longestRoam } ?? false
    if hasComeBack || home.accessPoint == nil {
      (home.accessPoint, home.roams) = (accessPoint, [])
    } else if accessPoint != home.roams.last ?? home.accessPoint {
      home.roams.append(accessPoint)
      countRoam(at: time)
      if home.roams.count > Self.mostRoams { home.roams.removeFirst() }
    }
    self.home = home
  }

  private mutating func countRoam(at time: Duration) {
    roamTimes.removeAll { $0 <= time - Self.hour }
    if roamTimes.count == Self.countLimit { roamTimes.removeFirst() }
    roamTimes.append(time)
  }

  private mutating func rejoin(_ connection: WiFiConnection, at time: Duration) {
    home?.isUnsure = false
    guard let accessPoint = connection.accessPointAddress, let former = home?.accessPoint, former != accessPoint else {
      return
    }
    home?.roams = [accessPoint]
    countRoam(at: time)
  }

  /// Returns the roams to publish.
  ///
  /// - Parameter connection: The current connection, which is at most that of the last roam.
  private mutating func roams(_ connection: WiFiConnection?, at time: Duration) -> [News] {
    guard let home, home.lost == nil, let last = home.roams.last else { return [] }
    isStorm = isStorm || roamTimes.count { $0 > time - Self.stormInterval } > Self.mostRoams
    if isStorm, let lastTold, time - lastTold < Self.stormInterval { return [] }
    lastTold = time
    defer { isStorm = false }
    roamTimes.removeAll { $0 <= time - Self.hour }
    self.home?.roams = []
    self.home?.accessPoint = last
    return (isStorm ? [last] : home.roams).map { accessPoint in
      var joined = WiFiConnection()
      joined.accessPointAddress = accessPoint
      if let connection, connection.accessPointAddress == accessPoint {
        joined = connection
        published = connection.signal
      }
      joined.roamsInLastHour = roamTimes.count
      return News(connection: joined, reason: .roamed)
    }
  }

  private mutating func change(_ connection: WiFiConnection) -> [News] {
    guard let signal = connection.signal, signalChanges?.hasNews(signal, after: published) == true else { return [] }
    published = signal
    return [News(connection: connection, reason: .signalChanged)]
  }
}
