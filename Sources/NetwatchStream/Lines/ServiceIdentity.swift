/// What a service says about itself in the first line of a connection.
package struct ServiceIdentity: Hashable, Sendable {
  /// What a service counts as in flight.
  package struct Counts: OptionSet, Hashable, Sendable {
    /// The requests that clients announce.
    package static let requests = Counts(rawValue: 1)
    /// The TCP connections of all programs.
    package static let tcp = Counts(rawValue: 2)
    /// What all programs exchange over UDP.
    package static let udp = Counts(rawValue: 4)
    /// Requests and TCP connections, as before UDP could be counted.
    package static let all: Counts = [.requests, .tcp]

    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }
  }

  static let protocolVersion: UInt64 = 1

  /// The network that the service reports on; nil if it cannot be told.
  let namespace: FileIdentity?
  /// The version of the program; nil if it has none.
  let version: String?
  /// What the service counts; nil if it counts something that this version does not know.
  let counts: Counts?
}

extension ServiceIdentity {
  /// The identity of a service that runs on the calling thread.
  package init(version: String? = nil, counts: Counts = .requests) {
    self.init(namespace: .ownNetwork, version: version, counts: counts)
  }

  /// Reads the key `service` of a line.
  init(_ value: JSONValue) {
    func number(_ key: String) -> Int64? { value["namespace"]?[key]?.integer(in: 0...Int64.max) }
    let namespace = number("device").flatMap { device in
      number("inode").map { FileIdentity(device: UInt64(device), inode: UInt64($0)) }
    }
    self.init(
      namespace: namespace, version: value["version"]?.string,
      counts: value["counts"]?.string.flatMap { Counts($0) })
  }

  /// Whether a service reports on the network of the calling thread. No, if that cannot be told.
  ///
  /// - Parameters:
  ///   - identity: what its first line says; nil if it says nothing, as that of an older service.
  ///   - process: the process that listens.
  static func sharesNetwork(_ identity: ServiceIdentity?, of process: CInt?) -> Bool {
    let theirs = identity.map(\.namespace) ?? process.flatMap { .network(of: $0) }
    return theirs != nil && theirs == .ownNetwork
  }
}

extension ServiceIdentity.Counts {
  /// Each with its word; `all` comes before its parts.
  private static let words: [(counts: Self, word: String)] = [
    (.all, "all"), (.requests, "requests"), (.tcp, "tcp"), (.udp, "udp"),
  ]

  /// Words with commas between them, such as `tcp,udp`.
  package var text: String {
    var rest = self
    return Self.words.compactMap { counts, word in
      guard rest.isSuperset(of: counts) else { return nil }
      rest.subtract(counts)
      return word
    }.joined(separator: ",")
  }

  /// Nil for what has another word in it, or none.
  package init?(_ text: String) {
    self = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let counts = Self.words.first(where: { $0.word == part })?.counts else { return nil }
      formUnion(counts)
    }
  }
}
