import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// What DHCP servers have said, as the files of DHCP clients have it: systemd-networkd and ISC dhclient for every user, dhcpcd for root.
///
/// A phone that shares its connection sends ANDROID_METERED in the vendor option of DHCP (43), even if it was not asked for.
/// The leases of NetworkManager have only the address.
struct DHCPLeases {
  /// The folder of systemd-networkd, with a file for each link, named by the link's index.
  var networkd = "/run/systemd/netif/leases"
  /// The folder in which systemd-networkd keeps the state of each link, named by the link's index. Since systemd 254 it has the URI of
  /// the captive portal, from router advertisements also, which networkd handles instead of the kernel.
  var networkdLinks = "/run/systemd/netif/links"
  /// The folders of dhclient, which appends to `dhclient.leases` and `dhclient.LINK.leases` in them.
  var dhclient = ["/var/lib/dhcp", "/var/lib/dhclient"]
  /// The folder of dhcpcd, with the file `LINK.lease`, or `LINK-SSID.lease` for a WiFi network. Only root may read them.
  var dhcpcd = "/var/lib/dhcpcd"

  /// What the server of a lease says about its network.
  struct Lease: Hashable {
    /// Whether it marks the network as metered.
    var isMetered = false
    /// What it says about the captive portal (RFC 8910, option 114); nil if nothing.
    var portalAPI: PortalAPI?
    /// The name servers (option 6).
    var nameServers: [InternetAddress] = []
  }

  private static let mark = Array("ANDROID_METERED".utf8)
  /// The number of bytes to read at the end of dhclient's file. The newest leases are there, and the file may be long.
  private static let tailLength = 64 << 10
  private static let longestFile = 16 << 10

  /// Returns the lease of an address of a link; nil if there is none that can be read.
  ///
  /// The address is compared because a file may be from another network namespace, or older than the address.
  func lease(link: String, index: Int32, address: InternetAddress) -> Lease? {
    if let text = FileDescriptor.text(of: file(ofLink: index), capacity: Self.longestFile),
      let lease = Self.lease(networkd: text, address: address)
    {
      return lease
    }
    for file in dhclientFiles(ofLink: link) {
      if let text = Self.tail(of: file), let lease = Self.lease(dhclient: text, link: link, address: address) {
        return lease
      }
    }
    for file in dhcpcdFiles(ofLink: link) {
      if let message = FileDescriptor.bytes(of: file, capacity: 4 << 10),
        let lease = Self.lease(message: message, address: address)
      {
        return lease
      }
    }
    return nil
  }

  /// Returns what the leases of a link's addresses and its link manager say about its network; nil if nothing is known.
  func facts(link: String, index: Int32, addresses: [InternetAddress]) -> LeasedFacts? {
    let leases = addresses.compactMap { self.lease(link: link, index: index, address: $0) }
    var facts = leases.first.map { LeasedFacts(portalAPI: $0.portalAPI, nameServers: $0.nameServers) }
    // The file may be that of another network namespace. It has no address, but the lease beside it may have one.
    let own = FileDescriptor.text(of: file(ofLink: index), capacity: Self.longestFile)
    let isOfLink = own.map { text in addresses.contains { Self.lease(networkd: text, address: $0) != nil } } ?? true
    if isOfLink, let text = FileDescriptor.text(of: stateFile(ofLink: index), capacity: Self.longestFile) {
      let state = Self.facts(networkdState: text)
      facts = LeasedFacts(
        portalAPI: state.portalAPI ?? facts?.portalAPI,
        nameServers: state.nameServers.isEmpty ? facts?.nameServers ?? [] : state.nameServers)
    }
    return facts
  }

  /// Returns whether the server that leased an address to a link has marked its network as metered. False if there is no such
  /// lease.
  func isMetered(link: String, index: Int32, address: InternetAddress) -> Bool {
    lease(link: link, index: index, address: address)?.isMetered ?? false
  }

  /// Returns the paths of dhclient's files that may have leases of a link.
  func dhclientFiles(ofLink link: String) -> [String] {
    dhclient.flatMap { ["\($0)/dhclient.\(link).leases", "\($0)/dhclient.leases"] }
  }

  /// Returns the path of systemd-networkd's file about a link. The file may be created after the address.
  func file(ofLink index: Int32) -> String { "\(networkd)/\(index)" }

  /// Returns the path of systemd-networkd's file about the state of a link.
  private func stateFile(ofLink index: Int32) -> String { "\(networkdLinks)/\(index)" }

  /// Returns the paths of dhcpcd's files that may have the lease of a link.
  private func dhcpcdFiles(ofLink link: String) -> [String] {
    let names = FileDescriptor.names(inFolder: dhcpcd).filter {
      $0 == "\(link).lease" || $0.hasPrefix("\(link)-") && $0.hasSuffix(".lease")
    }
    return names.sorted().map { "\(dhcpcd)/\($0)" }
  }

  /// Returns the paths of all files that may say something about a link's network, and the folders in which such files may appear.
  func places(ofLink link: String, index: Int32) -> (files: [String], folders: [String]) {
    (
      dhclientFiles(ofLink: link) + [file(ofLink: index), stateFile(ofLink: index)],
      unsafe access(dhcpcd, R_OK) == 0 ? [dhcpcd] : []
    )
  }

  // MARK: Formats

  /// Reads a lease of systemd-networkd, with a line for each key, such as `ADDRESS=192.168.43.50`. Nil if the lease is for
  /// another address.
  static func lease(networkd text: String, address: InternetAddress) -> Lease? {
    var isOfAddress = false
    var lease = Lease()
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if let value = line.value(of: "ADDRESS=") {
        isOfAddress = InternetAddress(String(decoding: value, as: UTF8.self)) == address
      } else if let value = line.value(of: "VENDOR_SPECIFIC=") {
        lease.isMetered = holdsMark(hexadecimal: value.filter { $0 != UInt8(ascii: ":") })
      } else if let value = line.value(of: "DNS=") {
        lease.nameServers = addresses(in: value)
      }
    }
    return isOfAddress ? lease : nil
  }

  /// Reads the state of a link as systemd-networkd keeps it, such as `CAPTIVE_PORTAL=https://portal.example/api`.
  static func facts(networkdState text: String) -> LeasedFacts {
    var facts = LeasedFacts()
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if let value = line.value(of: "CAPTIVE_PORTAL=") {
        facts.portalAPI = PortalAPI(String(decoding: value, as: UTF8.self))
      } else if let value = line.value(of: "DNS=") {
        facts.nameServers = addresses(in: value)
      }
    }
    return facts
  }

  /// Reads addresses between spaces or commas. A server may be written with a port, a link or the name of its certificate, as in
  /// `[fe80::1%eth0]:53#dns.example`.
  private static func addresses(in text: some Collection<UInt8>) -> [InternetAddress] {
    text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }.compactMap { word in
      let word = String(decoding: word, as: UTF8.self).prefix { $0 != "#" && $0 != "%" && $0 != "]" }
      let host = word.drop { $0 == "[" }
      return InternetAddress(String(host)) ?? InternetAddress(String(host.prefix { $0 != ":" }))
    }
  }

  /// Reads a DHCP message, which is what dhcpcd keeps (RFC 2131, section 2). Nil if it is for another address, or no such message.
  static func lease(message: [UInt8], address: InternetAddress) -> Lease? {
    guard message.count > optionsStart, message[236..<optionsStart].elementsEqual(magicCookie),
      case .v4(let own) = address, message[16..<20].reduce(0, { $0 << 8 | UInt32($1) }) == own
    else { return nil }
    // Parts of an option that is given several times belong together (RFC 3396).
    var options: [UInt8: [UInt8]] = [:]
    var rest = message[optionsStart...]
    while let code = rest.popFirst(), code != 255 {
      if code == 0 { continue }
      guard let length = rest.popFirst(), rest.count >= length else { break }
      options[code, default: []] += rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
    }
    var lease = Lease()
    lease.isMetered = holdsMark(options[43] ?? [])
    lease.portalAPI = options[114].flatMap { PortalAPI(String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)) }
    let servers = options[6] ?? []
    lease.nameServers = stride(from: 0, through: servers.count - 4, by: 4).map { start in
      .v4(servers[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }
    return lease
  }

  /// The place of the options in a DHCP message, and the bytes before them (RFC 2131, section 3).
  private static let optionsStart = 240
  private static let magicCookie: [UInt8] = [99, 130, 83, 99]

  /// Reads leases of dhclient: `lease {`, a line for each statement, and `}`. The last lease of the address counts; nil if
  /// there is none. A text never spans lines, because dhclient escapes characters that are not graphic.
  static func lease(dhclient text: String, link: String, address: InternetAddress) -> Lease? {
    var found: Lease?
    var isOfLink = false
    var isOfAddress = false
    var lease = Lease()
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let statement = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      if statement.value(of: "lease {") != nil {
        (isOfLink, isOfAddress, lease) = (false, false, Lease())
      } else if let value = statement.value(of: "interface ") {
        isOfLink = value.elementsEqual("\"\(link)\";".utf8)
      } else if let value = statement.value(of: "fixed-address ") {
        isOfAddress = InternetAddress(String(decoding: value.dropLast(), as: UTF8.self)) == address
      } else if let value = statement.value(of: "option vendor-encapsulated-options ") {
        // The value is a text in quotes, or bytes such as 41:4e:….
        lease.isMetered = holdsMark(value) || holdsMark(hexadecimal: value.filter { $0 != UInt8(ascii: ":") })
      } else if let value = statement.value(of: "option default-url \"") {
        // dhclient knows option 114 by its former name. Its v4-captive-portal is 160, of the obsolete RFC 7710.
        lease.portalAPI = PortalAPI(String(decoding: value.prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self))
      } else if let value = statement.value(of: "option domain-name-servers ") {
        lease.nameServers = addresses(in: value.prefix { $0 != UInt8(ascii: ";") })
      } else if statement.first == UInt8(ascii: "}"), isOfLink, isOfAddress {
        found = lease
      }
    }
    return found
  }

  private static func holdsMark(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = bytes[...]
    while rest.count >= mark.count {
      if rest.starts(with: mark) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// Reads digits until the first other character, two for each byte.
  private static func holdsMark(hexadecimal digits: [UInt8]) -> Bool {
    func value(_ digit: UInt8) -> UInt8? { Character(Unicode.Scalar(digit)).hexDigitValue.map { UInt8($0) } }
    var bytes: [UInt8] = []
    var position = 0
    while position + 1 < digits.count, let high = value(digits[position]), let low = value(digits[position + 1]) {
      bytes.append(high << 4 | low)
      position += 2
    }
    return holdsMark(bytes)
  }

  // MARK: Files

  /// Returns the end of a file; nil if it cannot be read. The first lease in it may be incomplete.
  private static func tail(of path: String) -> String? {
    // A pipe at this path would otherwise wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = FileDescriptor(owning: descriptor)
    let size = lseek(file.rawValue, 0, SEEK_END)
    guard size > 0 else { return nil }
    let start = max(0, size - tailLength)
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(size - start)) { buffer, length in
      length = unsafe max(0, pread(file.rawValue, buffer.baseAddress, buffer.count, start))
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

extension Collection<UInt8> {
  /// The bytes after `key` if the collection begins with it; else nil.
  fileprivate func value(of key: String) -> SubSequence? {
    starts(with: key.utf8) ? dropFirst(key.utf8.count) : nil
  }
}
