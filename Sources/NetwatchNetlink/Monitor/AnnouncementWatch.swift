import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop

/// Hears what the network of the path says about itself. No packet is sent, and no privilege is needed.
///
/// The watch belongs to the thread of its loop. It has its own socket, so it costs nothing if it is not used.
package final class AnnouncementWatch {
  private let events: NetlinkSocket
  private let loop: EventLoop
  private var registration: EventLoop.Registration?
  private var machine = AnnouncementMachine()
  private let changed: (EventTimestamp) -> Void
  private let leases = DHCPLeases()
  /// The link whose leases are watched, and its IPv4 addresses.
  private var leased: (index: Int32, name: String, addresses: [InternetAddress])?
  private var files: PathWatch?
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in
    if handle(.timerFired) { changed(.now) }
  }

  /// Opens the socket and starts to listen.
  ///
  /// - Parameter changed: The closure that is called when ``announcements`` have changed without a new path, with the time.
  /// - Throws: A `SystemError` if the kernel refuses the socket.
  package init(on loop: EventLoop, changed: @escaping (EventTimestamp) -> Void) throws {
    self.loop = loop
    self.changed = changed
    events = try NetlinkSocket(
      .event, of: .kernel,
      log: NetlinkDebugLog("announcement") {
        "\(NetlinkDecoder.routerOption($0, $1) as Any)"
      })
    try events.makeNonBlocking()
    try events.join(RTNLGRP_ND_USEROPT)
    registration = try loop.watch(events.descriptor, for: .readable) { [unowned self] _ in readEvents() }
  }

  /// What the network that carries the path has said.
  package var announcements: NetworkAnnouncements { machine.announcements }

  /// The name servers of the link that carries the path: those that the network has named, else those that the machine is configured to
  /// use. Servers on this machine are left out, because they may ask over any link.
  package var nameServers: [InternetAddress] {
    let named = announcements.nameServers.filter { !$0.isLoopback }
    return named.isEmpty ? NameServers.configured().addresses : named
  }

  /// Watches the network of this path from now on. The caller reports what is known of it, so `changed` is not called.
  package func follow(_ path: NetworkPath) {
    _ = handle(.path(path))
    let link = path.interface.map { link in
      (link.index, link.name, link.addresses.map(\.address).filter { $0.family == .ipv4 })
    }
    guard let link else {
      (leased, files) = (nil, nil)
      return
    }
    let isOther = leased?.name != link.1
    leased = link
    // Without a watch, a lease that changes later is not known. The watch comes first, so that no change is missed.
    if isOther {
      let places = leases.places(ofLink: link.1, index: link.0)
      files = try? PathWatch(of: places.files, folders: places.folders, hearsWrites: true, on: loop) { [unowned self] in
        if readLease() { changed(.now) }
      }
    }
    _ = readLease()
  }

  /// Reads the leases of the link. Returns whether they have changed what is known.
  private func readLease() -> Bool {
    guard let leased else { return false }
    let facts = leases.facts(link: leased.name, index: leased.index, addresses: leased.addresses)
    return handle(.leased(link: leased.index, facts))
  }

  private func handle(_ input: AnnouncementMachine.Input) -> Bool {
    defer { timer.set(at: machine.deadline) }
    return machine.handle(input, at: loop.now)
  }

  /// Stops listening.
  package func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    (leased, files) = (nil, nil)
    timer.stop()
  }

  private func readEvents() {
    let moment = EventTimestamp.now
    var isNews = false
    // Options that are lost are advertised again. After another error, the known ones stay.
    while (try? events.readFrames { frame, bytes in
      guard let option = NetlinkDecoder.routerOption(frame, bytes) else { return }
      isNews = handle(.advertised(option)) || isNews
    }) == true {}
    if isNews { changed(moment) }
  }
}
