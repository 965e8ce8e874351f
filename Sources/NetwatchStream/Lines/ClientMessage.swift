import Netwatch

/// A message from a client to the service: one JSON object per line.
enum ClientMessage: Hashable, Sendable {
  /// A request begins, with an id and perhaps a label.
  case begin(String, label: String?)
  /// The request with this id ends.
  case end(String)
  /// The requests that run, besides those with an id. Those of an earlier such message have ended or are among them.
  case running(RunningRequests)
  /// Whether the service sends events from now on.
  case events(Bool)
  /// The time between two lines with traffic from now on; nil for none.
  case traffic(every: Duration?)
  /// The changes of the WiFi network's signal that the service sends from now on; nil for none.
  case signal(WiFiReporting.SignalChanges?)
  /// Whether lines about the WiFi network have its frequency and rates from now on.
  case wifiDetails(Bool)
  /// Whether lines about the WiFi network have the address of the access point from now on.
  case accessPoint(Bool)
  /// Whether the service sends the quality of the link that carries the path from now on.
  case quality(Bool)
  /// Asks for ``pong``.
  case ping
  /// Asks for the service's counters.
  case stats

  /// The most bytes of a line.
  static let lineLimit = 4_096
  /// The most bytes of an id.
  private static let idLimit = 64
  /// The most bytes of a label.
  static let labelLimit = 256
  /// The most requests that may run on behalf of one connection.
  static let requestLimit = 4_096
  /// The allowed time between two lines with figures, in seconds. At shorter intervals, the figures would show the traffic of
  /// reading them.
  static let trafficIntervals = 0.1...86_400.0
  /// The answer to ``ping``.
  static let pong = "{\"v\":1,\"pong\":1}\n"

  /// Reads a line without its newline. Throws a `ProtocolError` if the line is not a message.
  init(_ line: ArraySlice<UInt8>) throws(ProtocolError) {
    guard let message = JSONValue(line), case .object = message else {
      throw .notUnderstood("this is not a JSON object on one line")
    }
    if let id = message["begin"] {
      self = .begin(try Self.id(id), label: try Self.label(message["label"]))
    } else if let id = message["end"] {
      self = .end(try Self.id(id))
    } else if let count = message["running"] {
      self = .running(try RunningRequests(count, message["labels"]))
    } else if let events = message["events"] {
      self = .events(try Self.bool(events, of: "events"))
    } else if let interval = message["traffic"] {
      self = .traffic(every: try Self.interval(interval))
    } else if let signal = message["signal"] {
      self = .signal(try Self.signal(signal))
    } else if let isOn = message["wifi_details"] {
      self = .wifiDetails(try Self.bool(isOn, of: "wifi_details"))
    } else if let isOn = message["bssid"] {
      self = .accessPoint(try Self.bool(isOn, of: "bssid"))
    } else if let isOn = message["quality"] {
      self = .quality(try Self.bool(isOn, of: "quality"))
    } else if message["ping"] != nil {
      self = .ping
    } else if message["stats"] != nil {
      self = .stats
    } else {
      throw .notUnderstood(
        #"expected one of "begin", "end", "running", "events", "traffic", "signal", "wifi_details", "bssid", "quality", "ping", "stats""#
      )
    }
  }

  private static func bool(_ value: JSONValue, of key: String) throws(ProtocolError) -> Bool {
    guard let isOn = value.bool else { throw .notUnderstood("\"\(key)\" is true or false") }
    return isOn
  }

  private static func signal(_ value: JSONValue) throws(ProtocolError) -> WiFiReporting.SignalChanges? {
    switch value {
    case .bool(false): nil
    case .bool(true): .steps
    case .string(WiFiReporting.SignalChanges.all.rawValue): .all
    default: throw .notUnderstood(#""signal" is true, false or "dbm""#)
    }
  }

  private static func interval(_ value: JSONValue) throws(ProtocolError) -> Duration? {
    switch value {
    case .bool(false): return nil
    case .integer(let seconds) where trafficIntervals.contains(Double(seconds)): return .seconds(seconds)
    case .number(let seconds) where trafficIntervals.contains(seconds):
      return .milliseconds(Int64((seconds * 1_000).rounded()))
    default: throw .notUnderstood("\"traffic\" is false or a number of seconds from 0.1 to 86400")
    }
  }

  private static func id(_ value: JSONValue) throws(ProtocolError) -> String {
    guard let text = value.string, !text.isEmpty else { throw .notUnderstood("an id is a string that is not empty") }
    guard text.utf8.count <= idLimit else { throw .limit("an id has at most \(idLimit) bytes") }
    return text
  }

  fileprivate static func label(_ value: JSONValue?) throws(ProtocolError) -> String? {
    guard let value else { return nil }
    guard let text = value.string else { throw .notUnderstood("a label is a string") }
    guard text.utf8.count <= labelLimit else { throw .limit("a label has at most \(labelLimit) bytes") }
    return text
  }

  /// The message as a line with its newline.
  var line: String {
    switch self {
    case .begin(let id, let label?): "{\"begin\":\(id.json),\"label\":\(label.json)}\n"
    case .begin(let id, nil): "{\"begin\":\(id.json)}\n"
    case .end(let id): "{\"end\":\(id.json)}\n"
    case .running(let requests): requests.line
    case .events(let isOn): "{\"events\":\(isOn)}\n"
    case .traffic(let interval): "{\"traffic\":\(interval.map { "\($0 / .seconds(1))" } ?? "false")}\n"
    case .signal(.all): "{\"signal\":\"dbm\"}\n"
    case .signal(let changes): "{\"signal\":\(changes != nil)}\n"
    case .wifiDetails(let isOn): "{\"wifi_details\":\(isOn)}\n"
    case .accessPoint(let isOn): "{\"bssid\":\(isOn)}\n"
    case .quality(let isOn): "{\"quality\":\(isOn)}\n"
    case .ping: "{\"ping\":1}\n"
    case .stats: "{\"stats\":1}\n"
    }
  }
}

/// The requests that run in a program: how many, and how many of them have which label.
package struct RunningRequests: Hashable, Sendable {
  /// The number of requests, from 0 to ``ClientMessage/requestLimit``.
  package private(set) var count = 0
  /// The number of requests with each label. Other requests have none.
  package private(set) var labels: [String: Int] = [:]

  /// Creates requests with these labels. Text beyond 256 bytes of a label, and requests beyond 4,096, are left out.
  package init(_ labels: some Sequence<String?> = []) {
    for label in labels where count < ClientMessage.requestLimit {
      count += 1
      if let label { self.labels[Self.cut(label), default: 0] += 1 }
    }
  }

  private static func cut(_ label: String) -> String {
    var label = label
    while label.utf8.count > ClientMessage.labelLimit { label.unicodeScalars.removeLast() }
    return label
  }

  /// Reads the values of the keys `running` and `labels`. Throws a `ProtocolError`.
  fileprivate init(_ value: JSONValue, _ list: JSONValue?) throws(ProtocolError) {
    guard let number = value.integer(in: 0...Int64(Int32.max)) else {
      throw .notUnderstood(#""running" is a whole number"#)
    }
    guard number <= ClientMessage.requestLimit else {
      throw .limit("at most \(ClientMessage.requestLimit) requests may run on one connection")
    }
    count = Int(number)
    guard let list else { return }
    guard let entries = list.array else { throw .notUnderstood(#""labels" is a list"#) }
    for entry in entries {
      guard let label = try ClientMessage.label(entry["label"]),
        let requests = entry["requests"]?.integer(in: 1...number)
      else { throw .notUnderstood(#"each of the "labels" has a "label" and a number of "requests" that run"#) }
      labels[label, default: 0] += Int(requests)
    }
    guard labels.values.reduce(0, +) <= count else { throw .notUnderstood("more requests have a label than run") }
  }

  /// The message as a line with its newline. If it would be too long, labels with few requests are left out.
  fileprivate var line: String {
    let start = "{\"running\":\(count)"
    var entries = ""
    for (label, requests) in labels.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      let entry = (entries.isEmpty ? "" : ",") + "{\"label\":\(label.json),\"requests\":\(requests)}"
      guard start.utf8.count + entries.utf8.count + entry.utf8.count <= ClientMessage.lineLimit - 16 else { break }
      entries += entry
    }
    return entries.isEmpty ? start + "}\n" : start + ",\"labels\":[\(entries)]}\n"
  }
}

/// The reason why the service answers a client's line with an error.
enum ProtocolError: Error, Hashable, Sendable {
  /// The line is not a message. The connection continues.
  case notUnderstood(String)
  /// The message exceeds a limit. The connection ends.
  case limit(String)

  /// The response to the client, as a line with its newline.
  var line: String {
    switch self {
    case .notUnderstood(let message), .limit(let message): Self.line(message)
    }
  }

  /// Returns an error as a line with its newline.
  static func line(_ message: String) -> String { "{\"v\":1,\"error\":\(message.json)}\n" }
}
