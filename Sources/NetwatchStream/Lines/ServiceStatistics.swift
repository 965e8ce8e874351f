import Netwatch

/// What a service has been through, and what runs on behalf of its clients.
package struct ServiceStatistics: Hashable, Sendable {
  /// The most labels that a service names: those with the most requests.
  static let labelLimit = 32

  /// Changes of reachability that were published.
  package var transitions: UInt64
  /// How often the kernel dropped messages.
  package var netlinkOverruns: UInt64
  /// Clients that get events now.
  package var subscribers: Int
  /// Requests that run, of all users.
  package var requests = 0
  /// The labels of those that the asking user may see: its own, or all if it is root.
  package var labels: [NamedCount] = []
  /// The outages since the service started, by their reasons. Nil if an older service does not say.
  package var outages: [ReachabilityReason: UInt64]?
  /// The time of these outages, with that of the one that has not ended yet, in milliseconds.
  package var outageMilliseconds: UInt64 = 0

  package init(transitions: UInt64 = 0, netlinkOverruns: UInt64 = 0, subscribers: Int = 0) {
    self.transitions = transitions
    self.netlinkOverruns = netlinkOverruns
    self.subscribers = subscribers
  }
}

extension ServiceStatistics {
  /// What a service has counted of the machine; nothing of its clients.
  ///
  /// - Parameter now: The time of the monotonic clock.
  package init(of monitor: MonitorStatistics, _ outages: OutageMeter, at now: Duration) {
    self.init(
      transitions: UInt64(clamping: monitor.transitions), netlinkOverruns: UInt64(clamping: monitor.overruns))
    self.outages = outages.counts
    outageMilliseconds = UInt64(clamping: outages.time(at: now).nanoseconds / 1_000_000)
  }

  /// The labels with the most requests, cleaned. There may be a hundred thousand, so they are neither sorted nor cleaned all.
  static func mostFrequent(_ counts: [String: Int]) -> [NamedCount] {
    typealias Entry = (key: String, value: Int)
    func precedes(_ one: Entry, _ other: Entry) -> Bool { (other.value, one.key) < (one.value, other.key) }
    var first: [Entry] = []
    for entry in counts {
      if first.count == labelLimit, let last = first.last, !precedes(entry, last) { continue }
      first.insert(entry, at: first.firstIndex { precedes(entry, $0) } ?? first.endIndex)
      if first.count > labelLimit { first.removeLast() }
    }
    return first.map { NamedCount(name: $0.key.harmless, count: $0.value) }
  }

  /// Reads the key `stats` of an answer. A number that cannot be is 0.
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
    // A reason that only a newer service knows has no name here.
    let known = ReachabilityReason.allCases.compactMap { reason in counts[reason.rawValue].map { (reason, $0) } }
    outages = Dictionary(known.map { ($0, UInt64(number($1))) }) { $1 }
    outageMilliseconds = UInt64(number(value["outage_ms"]))
  }

  /// The answer to a client that asks.
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
    return ",\"outages\":{\(counts.joined(separator: ","))},\"outage_ms\":\(outageMilliseconds)"
  }
}
