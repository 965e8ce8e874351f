import Netwatch
import NetwatchEventLoop

/// Whether the DHCP leases of WiFi links say that the network is metered.
///
/// A lease is read when its address comes. A DHCP client may write its file only then, so the file is watched too, from the
/// first address of a WiFi link on. Belongs to its loop.
final class LeaseWatch {
  private struct Radio {
    let name: InterfaceName
    var addresses: Set<IPAddress> = []
    var metered: Set<IPAddress> = []
  }

  private let loop: EventLoop
  private let input: NetlinkInput
  private var radios: [Int32: Radio] = [:]
  private var watch: PathWatch?
  /// A file has changed: there is something to ``readAgain(_:)``.
  var hasChanged: () -> Void = {}

  init(on loop: EventLoop, of input: NetlinkInput) {
    self.loop = loop
    self.input = input
  }

  /// Notes a WiFi link by which this machine may have joined a network. What is known of its addresses stays.
  func add(_ index: Int32, _ name: InterfaceName) {
    guard radios[index]?.name != name else { return }
    radios[index] = Radio(name: name)
  }

  func forget(_ index: Int32) {
    guard radios.removeValue(forKey: index) != nil else { return }
    watchFiles()
  }

  /// Reads the lease of an address that a link has.
  ///
  /// - Returns: Whether the network of the link is metered by one of its leases; nil for links of other kinds.
  func add(_ address: IPAddress, to index: Int32) -> Bool? {
    guard let radio = radios[index], address.family == .ipv4 else { return nil }
    let isNew = radios[index]?.addresses.insert(address).inserted ?? false
    // First of all, so that no file falls between.
    if isNew { watchFiles() }
    if input.lease(radio.name.text, index, address) {
      radios[index]?.metered.insert(address)
    } else {
      radios[index]?.metered.remove(address)
    }
    return radios[index]?.metered.isEmpty == false
  }

  /// Forgets the lease of an address that a link has no more.
  ///
  /// - Returns: Whether the network of the link is metered by one of its leases; nil for links of other kinds.
  func remove(_ address: IPAddress, from index: Int32) -> Bool? {
    guard radios[index]?.addresses.remove(address) != nil else { return nil }
    radios[index]?.metered.remove(address)
    return radios[index]?.metered.isEmpty == false
  }

  /// Forgets all addresses, because every address that there is will be told anew.
  func beginListing() {
    for index in radios.keys {
      radios[index]?.addresses = []
      radios[index]?.metered = []
    }
  }

  /// Calls `body` with each link, and whether its network is metered by one of its leases.
  func endListing(_ body: (_ index: Int32, _ isMetered: Bool) -> Void) {
    for (index, radio) in radios { body(index, !radio.metered.isEmpty) }
  }

  /// Reads the leases of all addresses again.
  ///
  /// - Parameter body: Called with each link, and whether its network is metered by one of its leases.
  func readAgain(_ body: (_ index: Int32, _ isMetered: Bool) -> Void) {
    for index in radios.keys.sorted() {
      for address in (radios[index]?.addresses ?? []).sorted(by: { $0.description < $1.description }) {
        if let isMetered = add(address, to: index) { body(index, isMetered) }
      }
    }
  }

  func stop() {
    watch = nil
    radios = [:]
  }

  private func watchFiles() {
    let indices = radios.filter { !$0.value.addresses.isEmpty }.keys
    guard !indices.isEmpty else {
      watch = nil
      return
    }
    try? input.follow {
      // Clients put a whole file in the place of the old one.
      watch = try PathWatch(
        of: indices.sorted().map(DHCPLeases().file(ofLink:)), hearsArrivalsOnly: true, on: loop
      ) { [unowned self] in hasChanged() }
    }
  }
}
