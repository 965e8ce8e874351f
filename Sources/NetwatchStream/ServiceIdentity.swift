import Glibc

/// What a service says about itself in the first line of a connection.
public struct ServiceIdentity: Hashable, Sendable {
  /// What a service counts as in flight.
  public enum Counts: String, Hashable, Sendable, CaseIterable {
    /// The requests that clients announce.
    case requests
    /// The TCP connections of all programs.
    case tcp
    /// Both.
    case all
  }

  /// A network namespace, as the device and the inode of its file in /proc: every process sees the same two numbers.
  struct Namespace: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// The namespace of the calling thread.
    static var current: Namespace? { Namespace("/proc/thread-self/ns/net") }

    /// The namespace of another process; nil if this process may not look.
    init?(of process: CInt) {
      guard process > 0 else { return nil }
      self.init("/proc/\(process)/ns/net")
    }

    init(device: UInt64, inode: UInt64) {
      self.device = device
      self.inode = inode
    }

    private init?(_ path: String) {
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { return nil }
      self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }
  }

  static let protocolVersion: UInt64 = 1

  /// The network that the service reports on; nil if it cannot be told.
  let namespace: Namespace?
  /// The version of the program; nil if it has none.
  let version: String?
  /// What the service counts; nil if it counts something that this version does not know.
  let counts: Counts?

  /// The identity of a service that runs on the calling thread.
  public init(version: String? = nil, counts: Counts = .requests) {
    self.init(namespace: .current, version: version, counts: counts)
  }

  init(namespace: Namespace?, version: String?, counts: Counts?) {
    self.namespace = namespace
    self.version = version
    self.counts = counts
  }

  /// Reads the key `service` of a line.
  init(_ value: JSONValue) {
    func number(_ key: String) -> UInt64? {
      value["namespace"]?[key]?.integer(in: 0...Int64.max).map { UInt64($0) }
    }
    var namespace: Namespace?
    if let device = number("device"), let inode = number("inode") {
      namespace = Namespace(device: device, inode: inode)
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
    let theirs = identity.map(\.namespace) ?? process.flatMap { Namespace(of: $0) }
    return theirs != nil && theirs == .current
  }
}
