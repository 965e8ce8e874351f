import NetwatchEventLoop

/// The UDP datagrams that programs of this network namespace have received and sent, over IPv4 and IPv6.
struct DatagramTotals: Hashable {
  private(set) var received: UInt64 = 0
  private(set) var sent: UInt64 = 0

  /// The kernel's current counters; nil if /proc does not have them.
  static var now: DatagramTotals? {
    let path = "/proc/thread-self/net/snmp"
    guard let ipv4 = FileDescriptor.text(of: path, capacity: capacity) else { return nil }
    // A kernel without IPv6 does not have the second file.
    return DatagramTotals(ipv4: ipv4, ipv6: FileDescriptor.text(of: path + "6", capacity: capacity) ?? "")
  }

  /// The size of the read buffer; the longer file has about 3,200 bytes.
  private static let capacity = 16_384

  /// Reads the counters. Nil if `ipv4` has no lines about UDP.
  ///
  /// - Parameters:
  ///   - ipv4: The text of `snmp`: for each protocol a line of names and a line of numbers.
  ///   - ipv6: The text of `snmp6`: a line for each number.
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
