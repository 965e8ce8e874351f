import Netwatch
import NetwatchEventLoop

/// Tells whether the DHCP leases of WiFi links mark the network as metered.
///
/// A lease is read when its address is reported. A DHCP client may write its file only then, so the files are also watched,
/// from the first address of a WiFi link on. The watch belongs to the thread of its loop.
final class LeaseWatch {
  private struct Radio {
    let name: InterfaceName
    var addresses: Set<InternetAddress> = []
    var metered: Set<InternetAddress> = []
  }

  private let loop: EventLoop
  private let input: KernelInterface
  private var radios: [Int32: Radio] = [:]
  private var watch: PathWatch?
  /// The closure that is called when a file has changed, so that ``readAgain(_:)`` should be called.
  var hasChanged: () -> Void = {}

  init(on loop: EventLoop, of input: KernelInterface) {
    self.loop = loop
    self.input = input
  }

  /// Notes a WiFi link that may have joined a network as a client. Its known addresses stay.
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
  /// - Returns: Whether one of the link's leases marks its network as metered; nil for links of other kinds.
  func add(_ address: InternetAddress, to index: Int32) -> Bool? {
    guard let radio = radios[index], address.family == .ipv4 else { return nil }
    let isNew = radios[index]?.addresses.insert(address).inserted ?? false
    // The watch comes first, so that no change of a file is missed.
    if isNew { watchFiles() }
    if input.lease(radio.name.text, index, address) {
      radios[index]?.metered.insert(address)
    } else {
      radios[index]?.metered.remove(address)
    }
    return radios[index]?.metered.isEmpty == false
  }

  /// Forgets the lease of an address that was removed from a link.
  ///
  /// - Returns: Whether one of the link's leases marks its network as metered; nil for links of other kinds.
  func remove(_ address: InternetAddress, from index: Int32) -> Bool? {
    guard radios[index]?.addresses.remove(address) != nil else { return nil }
    radios[index]?.metered.remove(address)
    return radios[index]?.metered.isEmpty == false
  }

  /// Forgets all addresses, because every address is about to be reported again.
  func beginListing() {
    for index in radios.keys {
      radios[index]?.addresses = []
      radios[index]?.metered = []
    }
  }

  /// Calls `body` with each link, and with whether one of its leases marks its network as metered.
  func endListing(_ body: (_ index: Int32, _ isMetered: Bool) -> Void) {
    for (index, radio) in radios { body(index, !radio.metered.isEmpty) }
  }

  /// Reads the leases of all addresses again.
  ///
  /// - Parameter body: The closure that gets each link, and whether one of its leases marks its network as metered.
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
      // DHCP clients replace the file with a new one.
      watch = try PathWatch(
        of: indices.sorted().map(DHCPLeases().file(ofLink:)), hearsArrivalsOnly: true, on: loop
      ) { [unowned self] in hasChanged() }
    }
  }
}
