import Netwatch

/// The JSON form of a path is the object `reachability` of a line of the stream, with the `reason` of that line, and with its `lost`,
/// `wifi_end`, `quality`, `stages` and `uplinks` if the path has them.
///
/// The list of links is not part of it. A path that was decoded says the same as the one that was encoded, and has no
/// ``NetworkPath/interfaces``.
extension NetworkPath: Codable {
  /// The members of a line that are parts of a path here.
  private static let further = ["lost", "wifi_end", "quality", "stages", "uplinks"]

  /// Writes the path as the stream has it.
  public func encode(to encoder: any Encoder) throws {
    var record = EventRecord(
      sequence: 1, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .reachability, path: self)
    record.internet = internet
    record.portalURL = portal
    record.stages = stages
    record.quality = linkQuality
    record.tellsQuality = linkQuality != nil
    (record.lost, record.wifiEnding) = (lost, wifiEnding)
    record.announcements = announcements
    (record.cable, record.tellsCable, record.uplinks) = (cable, cable != nil, uplinks)
    let line = try JSONValue(record, in: network, for: encoder)
    guard case .object(var members)? = line["reachability"] else { throw encoder.failure(self) }
    members["reason"] = .string(reason.rawValue)
    for name in Self.further { members[name] = line[name] }
    try JSONValue.object(members).encode(to: encoder)
  }

  /// Reads a path as the stream has it. Unknown keys are ignored.
  ///
  /// - Throws: A `DecodingError` if a value is missing, or out of range.
  public init(from decoder: any Decoder) throws {
    let value = try JSONValue(from: decoder)
    let reason = value["reason"]?.string.flatMap(ReachabilityReason.init)
    guard var path = NetworkPath(value, because: reason) else { throw decoder.failure("no path") }
    var findings = Findings()
    findings.internet = value["internet"]?.string.map { InternetAccess(rawValue: $0) ?? .unknown }
    findings.portal = value["portal_url"]?.string.flatMap(PortalURL.init)
    findings.network = value["network_id"]?.string.flatMap(NetworkIdentity.init)
    findings.announcements = NetworkAnnouncements(value)
    findings.uplinks = value["uplinks"]?.array?.compactMap { Uplink($0) }
    findings.cable = value["link"].flatMap { CableState($0) }
    findings.stages = value["stages"].map { NetworkStages($0) }
    findings.lost = value["lost"].flatMap(LostInterface.init)
    findings.wifiEnding = value["wifi_end"].flatMap { WiFiEnding($0) }
    if let quality = value["quality"], let index = path.interfaceIndex {
      findings.quality = LinkQuality(quality, of: index)
    }
    path.findings = findings
    self = path
  }
}

/// The JSON form of a record is its line of the stream.
extension EventRecord: Codable {
  /// Writes the record as a line of the stream.
  public func encode(to encoder: any Encoder) throws { try JSONValue(self, in: nil, for: encoder).encode(to: encoder) }

  /// Reads a record as a line of the stream has it. Unknown keys are ignored.
  ///
  /// - Throws: A `DecodingError` if a value is missing, or out of range.
  public init(from decoder: any Decoder) throws {
    guard let record = EventRecord(try JSONValue(from: decoder)) else { throw decoder.failure("no line") }
    self = record
  }
}

extension JSONValue {
  /// Creates the line of a record.
  ///
  /// - Parameter network: The ID of the network; nil leaves the key out.
  fileprivate init(_ record: EventRecord, in network: NetworkIdentity?, for encoder: any Encoder) throws {
    var writer = JSONLineWriter()
    writer.write(record, programs: nil, network: network.map { .some($0) })
    guard let value = JSONValue(writer.line[...]) else { throw encoder.failure(record) }
    self = value
  }
}

extension Encoder {
  fileprivate func failure(_ value: Any) -> EncodingError {
    .invalidValue(value, .init(codingPath: codingPath, debugDescription: "the value has no JSON form"))
  }
}

extension Decoder {
  fileprivate func failure(_ what: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: "this is \(what) of netwatch's stream"))
  }
}

extension JSONValue: Codable {
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let number): try container.encode(number)
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let elements = try? container.decode([JSONValue].self) {
      self = .array(elements)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}
