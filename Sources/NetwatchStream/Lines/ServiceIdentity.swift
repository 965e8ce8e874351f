import Netwatch
import NetwatchLibC

/// The identity that a service reports in the first line of a connection.
package struct ServiceIdentity: Hashable, Sendable {
  /// The kinds of activity that a service counts as in flight.
  package struct Counts: OptionSet, Hashable, Sendable {
    /// The requests that clients announce.
    package static let requests = Counts(rawValue: 1)
    /// The TCP connections of all programs.
    package static let tcp = Counts(rawValue: 2)
    /// The UDP traffic of all programs.
    package static let udp = Counts(rawValue: 4)
    /// Requests and TCP connections. UDP is not included, because `all` existed before UDP could be counted.
    package static let all: Counts = [.requests, .tcp]

    /// The bits of the set.
    package let rawValue: UInt8

    /// Creates a set from its bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
  }

  static let protocolVersion: UInt64 = 1

  /// The network namespace that the service reports on; nil if it is not known.
  let namespace: FileIdentity?
  /// The version of the program; nil if it is not known.
  let version: String?
  /// What the service counts; nil if it counts a kind that this version does not know.
  let counts: Counts?
}

extension ServiceIdentity {
  /// Creates the identity of a service that runs on the calling thread.
  package init(version: String? = nil, counts: Counts = .requests) {
    self.init(namespace: .ownNetwork, version: version, counts: counts)
  }

  /// Reads the value of the key `service` of a line.
  init(_ value: JSONValue) {
    func number(_ key: String) -> Int64? { value["namespace"]?[key]?.integer(in: 0...Int64.max) }
    let namespace = number("device").flatMap { device in
      number("inode").map { FileIdentity(device: UInt64(device), inode: UInt64($0)) }
    }
    self.init(
      namespace: namespace, version: value["version"]?.string,
      counts: value["counts"]?.string.flatMap { Counts($0) })
  }

  /// Returns whether a service reports on the network namespace of the calling thread. False if that cannot be determined.
  ///
  /// - Parameters:
  ///   - identity: The identity in the service's first line; nil if the line has none, as from an older service.
  ///   - process: The process that listens.
  static func sharesNetwork(_ identity: ServiceIdentity?, of process: CInt?) -> Bool {
    let theirs = identity.map(\.namespace) ?? process.flatMap { .network(of: $0) }
    return theirs != nil && theirs == .ownNetwork
  }
}

extension ServiceIdentity.Counts {
  /// Each set with its word; `all` comes before its parts.
  private static let words: [(counts: Self, word: String)] = [
    (.all, "all"), (.requests, "requests"), (.tcp, "tcp"), (.udp, "udp"),
  ]

  /// The words of the set with commas between them, such as `tcp,udp`.
  package var text: String {
    var rest = self
    return Self.words.compactMap { counts, word in
      guard rest.isSuperset(of: counts) else { return nil }
      rest.subtract(counts)
      return word
    }.joined(separator: ",")
  }

  /// Reads words with commas between them. Nil if a word is unknown or empty.
  package init?(_ text: String) {
    self = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let counts = Self.words.first(where: { $0.word == part })?.counts else { return nil }
      formUnion(counts)
    }
  }
}

/// The device and inode of a file. They identify the file as long as it exists, and all processes see the same two numbers.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
}

extension FileIdentity {
  init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Nil if there is no file at the path, or this process has no permission to look.
  private init?(path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The network namespace of the calling thread.
  fileprivate static var ownNetwork: FileIdentity? { FileIdentity(path: "/proc/thread-self/ns/net") }

  /// Returns the network namespace of another process; nil if this process has no permission to look.
  static func network(of process: CInt) -> FileIdentity? {
    process > 0 ? FileIdentity(path: "/proc/\(process)/ns/net") : nil
  }
}
