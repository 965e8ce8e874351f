import CLibNetlink
import Netwatch
import NetwatchEventLoop

/// The state of WiFi links in nl80211, which is asked as rarely as possible.
///
/// The request socket is opened when a link appears that may be a radio's. After the first radio is found, its events are also
/// received. The object belongs to the thread of its loop.
final class WirelessMonitor {
  /// The hardware types of radios: Ethernet, or one of the types of monitor mode.
  private static let hardwareTypes = [
    ARPHRD_ETHER, ARPHRD_IEEE80211, ARPHRD_IEEE80211_PRISM, ARPHRD_IEEE80211_RADIOTAP,
  ]

  private let loop: EventLoop
  private let input: KernelInterface
  /// The closure that is called when there is something to ``read(_:)``.
  var isReadable: () -> Void = {}
  private var queries: WirelessQueries?
  private var events: WirelessEvents?
  private var registration: EventLoop.Registration?
  /// The known links by index. The wireless link is nil for links of other kinds.
  private var known: [Int32: (link: WirelessLink?, isRunning: Bool)] = [:]
  /// Why links have left their network, or have not joined one, and whether they have joined one since. A station often comes back at
  /// once, and rtnetlink may tell of the loss only then.
  private var endings: [Int32: (ending: WiFiEnding, isOver: Bool)] = [:]
  /// Whether the kernel refuses generic netlink.
  private(set) var isRefused = false
  /// Whether the last question failed for a reason that passes.
  private var lacksRoom = false

  init(on loop: EventLoop, of input: KernelInterface) {
    self.loop = loop
    self.input = input
  }

  /// Returns the known state of a link. nl80211 is asked only if the link is new or has just started to run: while the kernel
  /// leaves a network, a response is delayed until that is done, and a loss must be reported at once.
  ///
  /// - Returns: Nil for links of other kinds.
  func link(of fact: LinkUpdate) -> WirelessLink? {
    let running = Interface.runningFlag | Interface.lowerUpFlag
    let isRunning = fact.flags & running == running
    if let old = known[fact.index] {
      known[fact.index]?.isRunning = isRunning
      if isRunning, endings[fact.index]?.isOver == true {
        endings[fact.index] = nil
        known[fact.index]?.link?.ending = nil
      }
      if old.link != nil, isRunning, !old.isRunning { known[fact.index]?.link = ask(fact.index) ?? old.link }
    } else {
      guard fact.isComplete, fact.kind == nil, Self.hardwareTypes.contains(Int32(fact.hardwareType)) else { return nil }
      let link = ask(fact.index)
      // Without a descriptor or memory for the question, the kind of the link is not known. It is asked at the link's next news.
      if link == nil, lacksRoom { return nil }
      known[fact.index] = (link, isRunning)
      if link != nil { listen() }
    }
    return known[fact.index]?.link
  }

  func forget(_ index: Int32) { (known[index], endings[index]) = (nil, nil) }

  /// Returns the current connection to the access point. Nil if the driver does not report it.
  func connection(of index: Int32, hasFrequency: Bool) -> WiFiConnection? {
    guard known[index]?.link != nil else { return nil }
    return (try? queries?.connection(index, hasFrequency: hasFrequency)) ?? nil
  }

  func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    events = nil
    (known, endings) = ([:], [:])
  }

  /// Asks nl80211 about a link. Nil if the link is not a radio's, or nl80211 does not respond; the data of rtnetlink is enough
  /// then.
  private func ask(_ index: Int32) -> WirelessLink? {
    var link = askKernel(index)
    link?.ending = endings[index]?.ending
    return link
  }

  private func askKernel(_ index: Int32) -> WirelessLink? {
    lacksRoom = false
    do throws(SystemError) {
      guard let queries else {
        let new = try WirelessQueries(of: input)
        queries = new
        return try new.link(index)
      }
      // nl80211 may be loaded with the driver of the first radio.
      if !queries.isAvailable { try queries.findFamily() }
      return try queries.link(index)
    } catch {
      lacksRoom = error.isPassing
      isRefused = queries == nil && !lacksRoom
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

  /// Reads the messages of nl80211.
  ///
  /// - Parameter body: The closure that gets each link that may have joined another network or changed its mode.
  /// - Returns: Each access point that was joined, in order; nil if some may be missing.
  func read(_ body: (_ index: Int32, WirelessLink) -> Void) -> [(WiFiMachine.Association, accessPoint: UInt64)]? {
    var indices: [Int32] = []
    var joined: [(index: Int32, accessPoint: UInt64)] = []
    guard let events,
      let isWhole = try? events.read({ index, content in
        if let ending = content.ending { endings[index] = (ending, false) }
        if let accessPoint = content.joinedAccessPoint {
          joined.append((index, accessPoint))
          endings[index]?.isOver = true
        }
        // An attempt to join changes nothing unless it fails.
        if !content.isAttempt || content.ending != nil { indices.append(index) }
      })
    else {
      stop()
      return nil
    }
    if !isWhole { indices = Array(known.keys) }
    for index in indices where known[index] != nil {
      // A radio that nl80211 no longer knows is about to disappear; it has not become a link of another kind.
      guard let link = ask(index) else { continue }
      known[index]?.link = link
      body(index, link)
    }
    guard isWhole else { return nil }
    return joined.map { (WiFiMachine.Association(radio: $0.index, ssid: known[$0.index]?.link?.ssid), $0.accessPoint) }
  }
}
