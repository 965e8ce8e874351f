/// What a service says about itself in the first line of a connection.
package struct ServiceIdentity: Hashable, Sendable {
  /// What a service counts as in flight.
  package enum Counts: String, Hashable, Sendable, CaseIterable {
    /// The requests that clients announce.
    case requests
    /// The TCP connections of all programs.
    case tcp
    /// Both.
    case all

    package var includesConnections: Bool { self != .requests }
    package var includesRequests: Bool { self != .tcp }
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
      counts: value["counts"]?.string.flatMap(Counts.init))
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
