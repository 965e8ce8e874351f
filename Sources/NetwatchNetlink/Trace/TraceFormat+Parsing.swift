import NetlinkWire
import Netwatch

/// Parses the lines of a trace. The result is nil for a line that is malformed, because a trace may contain any bytes.
extension TraceFormat {
  typealias Line = ArraySlice<UInt8>

  /// The latest accepted time of a clock. Later ones would overflow in calculations; a century is enough for each clock.
  private static let latest = Int64.max / 2

  static func record(_ line: Line) -> TraceRecord? {
    let fields = fields(line)
    let words = fields.dropFirst()
    let kind = text(fields[0])
    if let channel = NetlinkTransport.Channel(rawValue: kind) { return input(words, from: channel) }
    if kind == namespaces { return ownNamespaces(words) }
    if kind == connection { return connectionRecord(words) }
    if kind == lease { return meteredLease(words) }
    if kind == news { return words.count == 1 ? reason(text(words[1])).map { .news($0) } : nil }
    // The spaces of JSON separate no fields.
    if kind == findings { return findings(line.dropFirst(fields[0].count + 1)) }
    return kind == "device" ? device(words) : cause(kind, words)
  }

  static func setting(_ line: Line) -> TraceReader.Setting? {
    let fields = fields(line)
    guard text(fields[0]) == "set", fields.count == 2 || fields.count == 3, let key = unescaped(fields[1]),
      !key.isEmpty
    else { return nil }
    guard fields.count == 3 else { return (key, nil) }
    return unescaped(fields[2]).map { (key, $0) }
  }

  // MARK: Kinds

  private static func cause(_ kind: String, _ words: ArraySlice<Line>) -> TraceRecord? {
    guard words.count >= 2, let monotonic = clock(words[1]), let wall = clock(words[2]) else { return nil }
    let rest = words.dropFirst(2)
    guard let cause = cause(kind, rest.map { text($0) }) else { return nil }
    var moment = EventTimestamp(monotonic: monotonic, wall: wall)
    switch cause {
    case .sampling, .quality:
      guard let suspended = rest.first.flatMap({ clock($0) }) else { return nil }
      moment.suspended = suspended
    default: break
    }
    return .cause(cause, moment)
  }

  private static func cause(_ kind: String, _ rest: [String]) -> KernelInterface.WakeReason? {
    switch (kind, rest.count) {
    case ("start", 0): return .start
    case ("resumed", 0): return .resumed
    case ("unresolved", 0): return .unresolved
    case ("turn", 1): return NetlinkTransport.Channel(rawValue: rest[0]).map { .turn($0) }
    case ("timer", 1): return ReachabilityMachine.Timer.allCases.first { $0.name == rest[0] }.map { .timer($0) }
    case ("sampling", 1): return .sampling
    case ("signal", 0): return .signal
    case ("quality", 1): return .quality
    case ("leases", 0): return .leases
    case ("found", 1): return reason(rest[0]).map { .found($0) }
    case ("resolved", _):
      let addresses = rest.compactMap { InternetAddress($0) }
      return addresses.count == rest.count ? .resolved(addresses) : nil
    default: return nil
    }
  }

  private static func input(_ words: ArraySlice<Line>, from channel: NetlinkTransport.Channel) -> TraceRecord? {
    let first = words.first.map { text($0) }
    switch (first, words.count) {
    case ("overrun", 1): return .overrun(channel)
    case ("end", 1): return .end(channel)
    case ("failed", 3):
      guard let call = NetlinkTransport.Call(rawValue: text(words[2])), let code = CInt(text(words[3])),
        0...4095 ~= code
      else {
        return nil
      }
      return .failed(channel, call, code: code)
    case (_, 1): return datagram(words[1]).map { .datagram(channel, $0) }
    default: return nil
    }
  }

  private static func ownNamespaces(_ words: ArraySlice<Line>) -> TraceRecord? {
    switch words.map(text) {
    case [users]: .namespaces(.users)
    case [network]: .namespaces(.network)
    case [users, network]: .namespaces([.users, .network])
    default: nil
    }
  }

  /// Returns the numbers that the quality of a link is calculated from, in the order in which they are written.
  static func numbers(of connection: ConnectionFacts) -> [UInt64] {
    [
      connection.cookie, UInt64(connection.roundTripTime), connection.bytesAcknowledged,
      UInt64(connection.segmentsSent),
      UInt64(connection.segmentsRepeated), UInt64(connection.segmentsDuplicated), UInt64(clamping: connection.sentAge),
    ]
  }

  private static func connectionRecord(_ words: ArraySlice<Line>) -> TraceRecord? {
    let texts = words.map(text)
    if texts == [end] { return .connectionsEnd(isWhole: true) }
    if texts == [cut] { return .connectionsEnd(isWhole: false) }
    let numbers = texts.compactMap { UInt64($0) }
    guard numbers.count == 7, texts.count == 7, let age = Int64(exactly: numbers[6]) else { return nil }
    var facts = ConnectionFacts(cookie: numbers[0], stage: .open)
    facts.bytesAcknowledged = numbers[2]
    facts.sentAge = age
    guard let time = UInt32(exactly: numbers[1]), let sent = UInt32(exactly: numbers[3]),
      let repeated = UInt32(exactly: numbers[4]), let duplicated = UInt32(exactly: numbers[5])
    else { return nil }
    (facts.roundTripTime, facts.segmentsSent) = (time, sent)
    (facts.segmentsRepeated, facts.segmentsDuplicated) = (repeated, duplicated)
    return .connection(facts)
  }

  private static func meteredLease(_ words: ArraySlice<Line>) -> TraceRecord? {
    let texts = words.map(text)
    guard texts.count == 2, let index = Int32(texts[0]), let address = InternetAddress(texts[1]) else { return nil }
    return .meteredLease(index: index, address)
  }

  private static func reason(_ word: String) -> ReachabilityReason? { ReachabilityReason(rawValue: word) }

  private static func findings(_ json: Line) -> TraceRecord? {
    guard let value = JSONValue(json), case .object = value else { return nil }
    return .findings(value)
  }

  private static func device(_ words: ArraySlice<Line>) -> TraceRecord? {
    guard let first = words.first, let index = Int32(text(first)) else { return nil }
    var traits = DeviceTraits()
    for word in words.dropFirst() {
      switch text(word) {
      case "wireless": traits.isWireless = true
      case "tether": traits.isTether = true
      case let other where other.hasPrefix(blockPrefix):
        guard let block = RadioBlock(rawValue: String(other.dropFirst(blockPrefix.count))) else { return nil }
        traits.radioBlock = block
      case let other:
        guard other.hasPrefix(typePrefix),
          let type = unescaped(word.dropFirst(typePrefix.utf8.count))
        else { return nil }
        traits.type = type
      }
    }
    return .device(index: index, traits)
  }

  // MARK: Pieces

  private static func fields(_ line: Line) -> [Line] {
    line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
  }

  private static func text(_ field: Line) -> String { String(decoding: field, as: UTF8.self) }

  private static func clock(_ field: Line) -> Int64? {
    Int64(text(field)).flatMap { 0...latest ~= $0 ? $0 : nil }
  }

  private static func datagram(_ field: Line) -> [UInt8]? {
    guard field.count.isMultiple(of: 2), field.count / 2 <= NetlinkSocket.bufferSize else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(field.count / 2)
    var position = field.startIndex
    while position < field.endIndex {
      guard let high = digit(field[position]), let low = digit(field[position + 1]) else { return nil }
      bytes.append(high << 4 | low)
      position += 2
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  /// Replaces escapes such as `%20` by their bytes; see ``TraceFormat``. Nil if an escape or the text is invalid.
  private static func unescaped(_ field: Line) -> String? {
    var bytes: [UInt8] = []
    var position = field.startIndex
    while position < field.endIndex {
      guard field[position] == UInt8(ascii: "%") else {
        bytes.append(field[position])
        position += 1
        continue
      }
      guard field.endIndex - position > 2, let high = digit(field[position + 1]), let low = digit(field[position + 2])
      else { return nil }
      bytes.append(high << 4 | low)
      position += 3
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
