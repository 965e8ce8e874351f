import FoundationEssentials

/// Parses a stream of server-sent events. Pure: bytes in, events out. The parts of the body may begin and end anywhere.
///
/// By WHATWG HTML, sections 9.2.5 and 9.2.6. An event without a blank line after it is dropped with its connection.
struct EventStreamParser: Sendable {
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  /// The ID of the newest complete event, or of an earlier one if that event has none.
  private(set) var lastEventID: String
  /// The time that the server asks a client to wait before it connects again. Nil if the server has not sent one.
  private(set) var retry: Duration?
  private let maximumEventBytes: Int

  /// The bytes of a byte order mark that may still come. It can only come at the beginning of a stream.
  private var mark: ArraySlice<UInt8> = Self.byteOrderMark
  /// Whether the last line has ended with a carriage return, so that a following line feed belongs to it.
  private var skipsLineFeed = false
  /// The beginning of a line whose end has not arrived.
  private var line: [UInt8] = []
  private var type: [UInt8] = []
  /// The data of the event, with a line feed after each line.
  private var data: [UInt8] = []
  /// The ID of the event that is being read.
  private var id: String

  private static let byteOrderMark: ArraySlice<UInt8> = [0xef, 0xbb, 0xbf]

  /// - Parameters:
  ///   - lastEventID: The last event ID of an earlier connection. Empty for none.
  ///   - maximumEventBytes: The most bytes of an event or a line.
  init(lastEventID: String, maximumEventBytes: Int) {
    self.lastEventID = lastEventID
    self.maximumEventBytes = maximumEventBytes
    id = lastEventID
  }

  /// Begins the stream of another connection.
  ///
  /// The specification empties the last event ID here, so that a stream whose first event has no ID loses its place. Like
  /// browsers, this parser keeps it.
  mutating func restart() {
    mark = Self.byteOrderMark
    skipsLineFeed = false
    line = []
    forgetEvent()
    id = lastEventID
  }

  /// Parses the next bytes of the stream.
  ///
  /// - Throws: `responseTooLarge`. The events before the oversized one are in `events`.
  mutating func parse(_ bytes: Data, into events: inout [ServerSentEvent]) throws(HTTPError) {
    let result = unsafe bytes.withUnsafeBytes { bytes in
      do throws(HTTPError) {
        return Result<Void, HTTPError>.success(try unsafe parse(bytes[...], into: &events))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private mutating func parse(
    _ bytes: Slice<UnsafeRawBufferPointer>, into events: inout [ServerSentEvent]
  ) throws(HTTPError) {
    var rest = unsafe bytes
    if !mark.isEmpty { unsafe skipMark(&rest) }
    while unsafe !rest.isEmpty {
      if skipsLineFeed {
        skipsLineFeed = false
        if unsafe rest.first == Self.lineFeed {
          unsafe rest.removeFirst()
          continue
        }
      }
      guard let end = unsafe Self.lineEnd(rest) else {
        unsafe line.append(contentsOf: rest)
        return try checkSize()
      }
      skipsLineFeed = unsafe rest[end] == Self.carriageReturn
      if line.isEmpty {
        try unsafe handle(UnsafeRawBufferPointer(rebasing: rest[..<end]), &events)
      } else {
        unsafe line.append(contentsOf: rest[..<end])
        let whole = line
        line.removeAll(keepingCapacity: true)
        try handle(whole, &events)
      }
      unsafe rest = rest[(end + 1)...]
    }
  }

  private static func lineEnd(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
    unsafe bytes.firstIndex { $0 == lineFeed || $0 == carriageReturn }
  }

  /// Skips a byte order mark at the beginning, which is not part of the first line.
  private mutating func skipMark(_ bytes: inout Slice<UnsafeRawBufferPointer>) {
    while let next = mark.first, let byte = unsafe bytes.first {
      guard byte == next else {
        // The bytes that looked like a mark are text.
        line = Array(Self.byteOrderMark[..<mark.startIndex])
        mark = []
        return
      }
      mark.removeFirst()
      unsafe bytes.removeFirst()
    }
  }

  private func checkSize() throws(HTTPError) {
    guard line.count + data.count > maximumEventBytes else { return }
    throw HTTPError(
      .responseTooLarge, "read server-sent events", message: "an event has more than \(maximumEventBytes) bytes")
  }

  // MARK: Lines

  private mutating func handle(
    _ line: some RandomAccessCollection<UInt8>, _ events: inout [ServerSentEvent]
  ) throws(HTTPError) {
    if line.isEmpty { return dispatch(&events) }
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    let name = line[..<(colon ?? line.endIndex)]
    var value = colon.map { line[line.index(after: $0)...] } ?? line[line.endIndex...]
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    if name.elementsEqual("data".utf8) {
      data.append(contentsOf: value)
      data.append(Self.lineFeed)
    } else if name.elementsEqual("event".utf8) {
      type = Array(value)
    } else if name.elementsEqual("id".utf8) {
      if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
    } else if name.elementsEqual("retry".utf8), let milliseconds = Self.number(value) {
      retry = .milliseconds(milliseconds)
    }
    try checkSize()
  }

  /// Returns the number. Nil for anything but digits. The largest result is more than a century.
  private static func number(_ digits: some Collection<UInt8>) -> Int64? {
    guard !digits.isEmpty, digits.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return digits.reduce(0) { min($0 * 10 + Int64($1 - 48), 1 << 42) }
  }

  private mutating func dispatch(_ events: inout [ServerSentEvent]) {
    lastEventID = id
    defer { forgetEvent() }
    guard !data.isEmpty else { return }
    let type = type.isEmpty ? "message" : String(decoding: type, as: UTF8.self)
    events.append(ServerSentEvent(type: type, data: String(decoding: data.dropLast(), as: UTF8.self), id: id))
  }

  private mutating func forgetEvent() {
    type.removeAll(keepingCapacity: true)
    data.removeAll(keepingCapacity: true)
  }
}
