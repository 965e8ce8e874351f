import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The leases in files of DHCP clients that every user may read: those of systemd-networkd and of ISC dhclient.
///
/// A phone that shares its connection sends ANDROID_METERED in the vendor option of DHCP (43), even if it was not asked for.
/// The leases of NetworkManager have only the address, and those of dhcpcd can be read only by root.
struct DHCPLeases {
  /// The folder of systemd-networkd, with a file for each link, named by the link's index.
  var networkd = "/run/systemd/netif/leases"
  /// The folders of dhclient, which appends to `dhclient.leases` and `dhclient.LINK.leases` in them.
  var dhclient = ["/var/lib/dhcp", "/var/lib/dhclient"]

  /// What the server of a lease says about its network.
  struct Lease: Hashable {
    /// Whether it marks the network as metered.
    var isMetered = false
    /// What it says about the captive portal (RFC 8910, option 114); nil if nothing.
    var portalAPI: PortalAPI?
  }

  private static let mark = Array("ANDROID_METERED".utf8)
  /// The number of bytes to read at the end of dhclient's file. The newest leases are there, and the file may be long.
  private static let tailLength = 64 << 10

  /// Returns the lease of an address of a link; nil if there is none that can be read.
  ///
  /// The address is compared because a file may be from another network namespace, or older than the address.
  func lease(link: String, index: Int32, address: InternetAddress) -> Lease? {
    if let text = FileDescriptor.text(of: file(ofLink: index), capacity: 16 << 10),
      let lease = Self.lease(networkd: text, address: address)
    {
      return lease
    }
    for file in dhclientFiles(ofLink: link) {
      if let text = Self.tail(of: file), let lease = Self.lease(dhclient: text, link: link, address: address) {
        return lease
      }
    }
    return nil
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
      }
    }
    return isOfAddress ? lease : nil
  }

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
