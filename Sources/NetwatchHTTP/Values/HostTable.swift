import Netwatch
import NetwatchLibC

/// A table of values for hosts, by name, by address or by domain (`*.example.org`).
struct HostTable<Value> {
  private var exact: [String: Value] = [:]
  /// The values of domains, the longest first: `.api.example.org` before `.example.org`.
  private var domains: [(suffix: String, value: Value)] = []
  /// The value of `*`.
  private var other: Value?

  var isEmpty: Bool { exact.isEmpty && domains.isEmpty && other == nil }

  /// - Parameter name: The name of the table, for error messages.
  /// - Throws: `badSecurityPolicy` for a key that no host can match, and for two keys that are the same.
  init(_ values: [String: Value], _ name: String) throws(HTTPError) {
    guard !values.isEmpty else { return }
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      if key == "*" {
        other = value
        continue
      }
      let isDomain = key.hasPrefix("*.")
      guard let host = HostName.canonical(isDomain ? String(key.dropFirst(2)) : key),
        !isDomain || InternetAddress(host) == nil
      else { throw Self.refusal(name, "'\(key)' is not a host; write a name, an address, or *.domain") }
      let isKnown = isDomain ? domains.contains { $0.suffix == ".\(host)" } : exact[host] != nil
      guard !isKnown else { throw Self.refusal(name, "'\(key)' stands twice; leave one of the two out") }
      if isDomain { domains.append((".\(host)", value)) } else { exact[host] = value }
    }
    domains.sort { $0.suffix.utf8.count > $1.suffix.utf8.count }
  }

  private static func refusal(_ name: String, _ message: String) -> HTTPError {
    HTTPError(.badSecurityPolicy, "start session", message: "\(name): \(message)")
  }

  /// The value of the host itself, else of the longest domain that contains it, else of `*`.
  ///
  /// - Parameter host: The host as ``HostName/canonical(_:)`` writes it.
  subscript(host: String) -> Value? {
    if let value = exact[host] { return value }
    // An address such as 192.0.2.1 belongs to no domain.
    if !domains.isEmpty, InternetAddress(host) == nil, let domain = domains.first(where: { host.hasSuffix($0.suffix) })
    {
      return domain.value
    }
    return other
  }
}

/// The canonical spelling of hosts' names and addresses.
enum HostName {
  /// Returns the canonical spelling: `EXAMPLE.org.` becomes `example.org`, `bücher.example` becomes `xn--bcher-kva.example`,
  /// `127.1` becomes `127.0.0.1`, and `[::1%25eth0]` becomes `::1`.
  ///
  /// - Returns: Nil for text that is not a host.
  static func canonical(_ text: String) -> String? {
    if text.contains(":") || text.hasPrefix("[") {
      guard !text.hasPrefix("[") || text.hasSuffix("]") else { return nil }
      let inner = text.hasPrefix("[") ? text.dropFirst().dropLast() : text[...]
      guard let address = InternetAddress(String(inner.prefix { $0 != "%" })), address.family == .ipv6 else {
        return nil
      }
      return address.description
    }
    guard var name = Authority.ascii(host: text)?.lowercased() else { return nil }
    if name.hasSuffix(".") { name.removeLast() }
    guard !name.isEmpty, !name.hasPrefix("."), !name.hasSuffix("."), !name.contains("..") else { return nil }
    var address = in_addr()
    // libcurl also reads old spellings of IPv4. They must not bypass a policy for an address.
    if unsafe inet_aton(name, &address) != 0 {
      return InternetAddress.v4(UInt32(bigEndian: address.s_addr)).description
    }
    return name
  }
}
