import Netwatch

/// The counters of a service, and the requests that run for its clients.
package struct ServiceStatistics: Hashable, Sendable {
  /// The most labels that a service lists: those with the most requests.
  static let labelLimit = 32

  /// The number of published changes of reachability.
  package var transitions: UInt64
  /// The number of times that the kernel dropped messages.
  package var netlinkOverruns: UInt64
  /// The number of clients that receive events now.
  package var subscribers: Int
  /// The number of running requests of all users.
  package var requests = 0
  /// The labels of the requests that the asking user may see: the user's own, or all if the user is root.
  package var labels: [NamedCount] = []
  /// The number of outages since the service started, by reason. Nil if the service is an older one that does not report them.
  package var outages: [ReachabilityReason: UInt64]?
  /// The total time of these outages in milliseconds, including the outage that has not ended yet.
  package var outageMilliseconds: UInt64 = 0
  /// The reason why the machine is not reachable. Nil while it is reachable, and if the service does not report it.
  package var reason: ReachabilityReason?
  /// The time at which the machine last began or stopped being reachable, in milliseconds since 1970. Nil if the service does not
  /// report it, or does not know yet whether anything is reachable.
  package var lastChangeMilliseconds: Int64?

  /// Creates counters; those that are not named here are zero or nil.
  package init(transitions: UInt64 = 0, netlinkOverruns: UInt64 = 0, subscribers: Int = 0) {
    self.transitions = transitions
    self.netlinkOverruns = netlinkOverruns
    self.subscribers = subscribers
  }
}

extension ServiceStatistics {
  /// Creates counters from what a service has counted of the machine. Those of its clients are zero.
  ///
  /// - Parameter now: The time of the monotonic clock.
  package init(of monitor: MonitorStatistics, _ outages: OutageMeter, at now: Duration) {
    self.init(
      transitions: UInt64(clamping: monitor.transitions), netlinkOverruns: UInt64(clamping: monitor.overruns))
    self.outages = outages.counts
    outageMilliseconds = UInt64(clamping: outages.time(at: now).nanoseconds / 1_000_000)
    reason = outages.reason
    lastChangeMilliseconds = outages.lastChange.map { $0 / 1_000_000 }
  }

  /// Returns the labels with the most requests, made harmless for a terminal.
  static func mostFrequent(_ counts: [String: Int]) -> [NamedCount] {
    counts.first(labelLimit) { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { NamedCount(name: $0.key.sanitizedForTerminal, count: $0.value) }
  }

  /// Reads the value of the key `stats` of a response. A number that is out of range counts as 0.
  init(_ value: JSONValue) {
    func number(_ value: JSONValue?) -> Int64 { value?.integer(in: 0...Int64.max) ?? 0 }
    func count(_ value: JSONValue?) -> Int { Int(value?.integer(in: 0...Int64(Int32.max)) ?? 0) }
    self.init(
      transitions: UInt64(number(value["transitions"])), netlinkOverruns: UInt64(number(value["netlink_overruns"])),
      subscribers: count(value["subscribers"]))
    requests = count(value["requests"])
    labels = (value["labels"]?.array ?? []).prefix(Self.labelLimit).compactMap { label in
      label["label"]?.string.map { NamedCount(name: $0, count: count(label["requests"])) }
    }
    guard let counts = value["outages"] else { return }
    // A reason that only a newer service knows has no case here, and is left out.
    let known = ReachabilityReason.allCases.compactMap { reason in counts[reason.rawValue].map { (reason, $0) } }
    outages = Dictionary(known.map { ($0, UInt64(number($1))) }) { $1 }
    outageMilliseconds = UInt64(number(value["outage_ms"]))
    reason = value["reason"]?.string.flatMap(ReachabilityReason.init)
    lastChangeMilliseconds = value["last_change_ms"]?.integer(in: 0...Int64.max)
  }

  /// The response to a client that asks for the counters, as a line with its newline.
  var line: String {
    let labels = labels.map { "{\"label\":\($0.name.json),\"requests\":\($0.count)}" }.joined(separator: ",")
    return "{\"v\":1,\"stats\":{\"transitions\":\(transitions),\"netlink_overruns\":\(netlinkOverruns),"
      + "\"subscribers\":\(subscribers),\"requests\":\(requests),\"labels\":[\(labels)]\(outagesText)}}\n"
  }

  private var outagesText: String {
    guard let outages else { return "" }
    let counts = ReachabilityReason.allCases.compactMap { reason in
      outages[reason].map { "\"\(reason.rawValue)\":\($0)" }
    }
    let change = lastChangeMilliseconds.map { ",\"last_change_ms\":\($0)" } ?? ""
    let reason = reason.map { ",\"reason\":\"\($0.rawValue)\"" } ?? ""
    return ",\"outages\":{\(counts.joined(separator: ","))},\"outage_ms\":\(outageMilliseconds)\(change)\(reason)"
  }
}

extension Sequence {
  /// Returns the first elements in an order, without sorting the others. There may be a hundred thousand of them.
  ///
  /// - Parameters:
  ///   - limit: The most elements to return.
  ///   - precedes: Whether its first argument comes before its second one.
  func first(_ limit: Int, by precedes: (Element, Element) -> Bool) -> [Element] {
    var first: [Element] = []
    for element in self {
      if first.count == limit, let last = first.last, !precedes(element, last) { continue }
      first.insert(element, at: first.firstIndex { precedes(element, $0) } ?? first.endIndex)
      if first.count > limit { first.removeLast() }
    }
    return first
  }
}

/// A name and a number: of a program's TCP connections, or of requests with a label.
package struct NamedCount: Hashable, Sendable {
  /// The name of the program, or the label.
  package let name: String
  /// The number of connections or requests.
  package let count: Int

  /// Creates a count.
  package init(name: String, count: Int) {
    self.name = name
    self.count = count
  }
}
