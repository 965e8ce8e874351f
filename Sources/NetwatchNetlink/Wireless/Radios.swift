import CLibNetlink
import Netwatch
import NetwatchEventLoop

/// What nl80211 knows of the links, asked as seldom as can be.
///
/// Its sockets are opened when a link comes that may be a radio's, and where the first one is, it is listened to. On a loop,
/// whose thread it belongs to.
final class Radios {
  /// What radios call themselves: Ethernet, or one of the kinds of monitors.
  private static let hardwareTypes = [
    ARPHRD_ETHER, ARPHRD_IEEE80211, ARPHRD_IEEE80211_PRISM, ARPHRD_IEEE80211_RADIOTAP,
  ]

  private let loop: EventLoop
  private let input: NetlinkInput
  /// There is something to ``read(_:)``.
  var isReadable: () -> Void = {}
  private var queries: WirelessQueries?
  private var events: WirelessEvents?
  private var registration: EventLoop.Registration?
  /// Without a wireless link for links of other kinds.
  private var known: [Int32: (link: WirelessLink?, isRunning: Bool)] = [:]
  /// Generic netlink is not to be had.
  private(set) var isRefused = false

  init(on loop: EventLoop, of input: NetlinkInput) {
    self.loop = loop
    self.input = input
  }

  /// What is known of a link. Asks if it is new or has begun to run, and never else: while the kernel leaves a network, an
  /// answer takes as long as that does, and a loss must be told at once.
  ///
  /// - Returns: nil for links of other kinds.
  func link(of fact: LinkFact) -> WirelessLink? {
    let running = Interface.runningFlag | Interface.lowerUpFlag
    let isRunning = fact.flags & running == running
    if let old = known[fact.index] {
      known[fact.index]?.isRunning = isRunning
      if old.link != nil, isRunning, !old.isRunning { known[fact.index]?.link = ask(fact.index) ?? old.link }
    } else {
      guard fact.isComplete, fact.kind == nil, Self.hardwareTypes.contains(Int32(fact.hardwareType)) else { return nil }
      let link = ask(fact.index)
      known[fact.index] = (link, isRunning)
      if link != nil { listen() }
    }
    return known[fact.index]?.link
  }

  func forget(_ index: Int32) { known[index] = nil }

  /// As it is now. Nil where nobody says.
  func connection(of index: Int32, hasFrequency: Bool) -> WiFiConnection? {
    guard known[index]?.link != nil else { return nil }
    return (try? queries?.connection(index, hasFrequency: hasFrequency)) ?? nil
  }

  func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    events = nil
    known = [:]
  }

  /// Nil where it is no radio's, and where nl80211 does not answer: what rtnetlink says is enough to go on.
  private func ask(_ index: Int32) -> WirelessLink? {
    do throws(NetlinkError) {
      guard let queries else {
        let new = try WirelessQueries(of: input)
        queries = new
        return try new.link(index)
      }
      // It comes with the driver of the first radio.
      if !queries.isAvailable { try queries.findFamily() }
      return try queries.link(index)
    } catch {
      isRefused = queries == nil
      return nil
    }
  }

  private func listen() {
    guard events == nil, let queries, let opened = try? WirelessEvents(queries, of: input) else { return }
    events = opened
    try? input.follow {
      registration = try loop.watch(opened.descriptor, for: .readable) { [unowned self] _ in isReadable() }
    }
  }

  /// Reads what nl80211 has told.
  ///
  /// - Parameter body: gets each link that may have joined another network, or be used for something else.
  /// - Returns: each access point that was joined, in order; nil if some may be missing.
  func read(_ body: (_ index: Int32, WirelessLink) -> Void) -> [(WiFiMachine.Association, accessPoint: UInt64)]? {
    var indices: [Int32] = []
    var joined: [(index: Int32, accessPoint: UInt64)] = []
    guard let events,
      let isWhole = try? events.read({ index, accessPoint in
        indices.append(index)
        if let accessPoint { joined.append((index, accessPoint)) }
      })
    else {
      stop()
      return nil
    }
    if !isWhole { indices = Array(known.keys) }
    for index in indices where known[index] != nil {
      // A radio that nl80211 does not know any more is about to go; it has not become something else.
      guard let link = ask(index) else { continue }
      known[index]?.link = link
      body(index, link)
    }
    guard isWhole else { return nil }
    return joined.map { (WiFiMachine.Association(radio: $0.index, ssid: known[$0.index]?.link?.ssid), $0.accessPoint) }
  }
}
