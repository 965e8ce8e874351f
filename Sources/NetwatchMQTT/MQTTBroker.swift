import Netwatch

/// The address of an MQTT broker.
package struct MQTTBroker: Hashable, Sendable, CustomStringConvertible {
  package let host: String
  package let port: CInt
  package let isEncrypted: Bool

  /// Reads `mqtts://HOST`, `mqtts://HOST:PORT`, or the same with `mqtt://`, without TLS. A host alone means `mqtts://`. An IPv6 address is
  /// in brackets.
  ///
  /// - Throws: A `PlainError` that says what to write.
  package init(_ text: String) throws(PlainError) {
    isEncrypted = !text.hasPrefix("mqtt://")
    let scheme = isEncrypted ? "mqtts://" : "mqtt://"
    let rest = text.hasPrefix(scheme) ? text.dropFirst(scheme.count) : text[...]
    var host = rest
    var port: Substring?
    if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
      host = rest[rest.index(after: rest.startIndex)..<end]
      let tail = rest[rest.index(after: end)...]
      guard tail.isEmpty || tail.hasPrefix(":") else { throw PlainError("Write the broker as mqtts://[ADDRESS]:PORT.") }
      port = tail.isEmpty ? nil : tail.dropFirst()
    } else if let colon = rest.firstIndex(of: ":"), !rest.contains("/") {
      (host, port) = (rest[..<colon], rest[rest.index(after: colon)...])
    }
    guard !host.isEmpty, host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-_:%".contains($0)) }) else {
      throw PlainError("Write the broker as mqtts://HOST or mqtts://HOST:PORT.")
    }
    let number = port.map { CInt($0) ?? 0 } ?? (isEncrypted ? 8_883 : 1_883)
    guard 1...65_535 ~= number else { throw PlainError("Write a port from 1 to 65535 behind the host.") }
    (self.host, self.port) = (String(host), number)
  }

  package var description: String { "\(host):\(port)" }

  /// Whether the broker is on this machine, so that nobody else can read what is sent to it.
  package var isLocal: Bool { ["localhost", "127.0.0.1", "::1"].contains(host) }
}
