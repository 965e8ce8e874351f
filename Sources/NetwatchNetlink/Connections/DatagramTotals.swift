import NetwatchEventLoop

/// The datagrams of UDP that programs of this network namespace have received and sent, over IPv4 and IPv6.
struct DatagramTotals: Hashable {
  private(set) var received: UInt64 = 0
  private(set) var sent: UInt64 = 0

  /// As the kernel counts them now; nil where /proc does not tell.
  static var now: DatagramTotals? {
    let path = "/proc/thread-self/net/snmp"
    guard let ipv4 = FileDescriptor.text(of: path, capacity: capacity) else { return nil }
    // A kernel without IPv6 has none.
    return DatagramTotals(ipv4: ipv4, ipv6: FileDescriptor.text(of: path + "6", capacity: capacity) ?? "")
  }

  /// The longer one has some 3,200 bytes.
  private static let capacity = 16_384

  /// Nil if there is nothing of UDP in `ipv4`.
  ///
  /// - Parameters:
  ///   - ipv4: two lines for each protocol, of names and of numbers.
  ///   - ipv6: a line for each number.
  init?(ipv4: String, ipv6: String) {
    let lines = ipv4.split(separator: "\n").filter { $0.hasPrefix("Udp: ") }.map { $0.split(separator: " ") }
    guard lines.count == 2, lines[0].count == lines[1].count else { return nil }
    for (name, number) in zip(lines[0], lines[1]) { add(name, number) }
    for line in ipv6.split(separator: "\n") where line.hasPrefix("Udp6") {
      let words = line.dropFirst("Udp6".count).split { $0 == " " || $0 == "\t" }
      if words.count == 2 { add(words[0], words[1]) }
    }
  }

  private mutating func add(_ name: Substring, _ number: Substring) {
    switch name {
    case "InDatagrams": received &+= UInt64(number) ?? 0
    case "OutDatagrams": sent &+= UInt64(number) ?? 0
    default: break
    }
  }
}
