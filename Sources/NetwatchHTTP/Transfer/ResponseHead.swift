import HTTPTypes

/// Reads the head of a response, line by line as libcurl hands it over. A head that another one follows is forgotten.
///
/// Every line is what a server chose to send.
struct ResponseHead {
  /// More than an honest server needs.
  static let mostBytes = 256 * 1_024

  private(set) var response: HTTPResponse?
  /// The empty line has come, and `response` is whole.
  private(set) var isComplete = false
  /// Of the body as it is delivered; nil where that is not known before the end.
  private(set) var bodyLength: Int64?
  private var isEncoded = false
  private var bytes = 0

  /// - Returns: false where it is too long.
  mutating func take(_ line: UnsafeRawBufferPointer, _ names: inout FieldNames) -> Bool {
    bytes += line.count
    guard bytes <= Self.mostBytes else { return false }
    let text = unsafe Self.trimmed(line[...])
    if unsafe text.isEmpty {
      isComplete = response.map { $0.status.kind != .informational } ?? false
      if isEncoded { bodyLength = nil }
    } else if let status = unsafe Self.status(text) {
      response = HTTPResponse(status: status)
      isComplete = false
      bodyLength = nil
      isEncoded = false
    } else if !isComplete {
      unsafe take(field: text, &names)
    }
    return true
  }

  private mutating func take(field line: Slice<UnsafeRawBufferPointer>, _ names: inout FieldNames) {
    guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
      let name = unsafe names.name(UnsafeRawBufferPointer(rebasing: line[..<colon]))
    else { return }
    let value = unsafe Self.trimmed(line[(colon + 1)...])
    if name == .contentLength {
      bodyLength = unsafe Self.number(value)
    } else if name == .contentEncoding || name == .transferEncoding {
      isEncoded = true
    }
    unsafe response?.headerFields.append(HTTPField(name: name, lenientValue: UnsafeRawBufferPointer(rebasing: value)))
  }

  /// `HTTP/1.1 200 OK`, `HTTP/2 200`.
  private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> HTTPResponse.Status? {
    guard unsafe line.starts(with: "HTTP/".utf8), let space = unsafe line.firstIndex(of: UInt8(ascii: " ")) else {
      return nil
    }
    let code = unsafe line[space...].dropFirst().prefix(3)
    guard unsafe code.count == 3, let number = unsafe number(code) else { return nil }
    let reason = unsafe UnsafeRawBufferPointer(rebasing: trimmed(line[code.endIndex...]))
    return HTTPResponse.Status(code: Int(number), reasonPhrase: unsafe String(decoding: reason, as: UTF8.self))
  }

  /// Nil for anything but digits, and for too many of them.
  private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
    guard unsafe 1...18 ~= text.count else { return nil }
    return unsafe text.reduce(Int64?(0)) { value, byte in
      48...57 ~= byte ? value.map { $0 * 10 + Int64(byte - 48) } : nil
    }
  }

  private static func trimmed(_ line: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
    var (start, end) = unsafe (line.startIndex, line.endIndex)
    while start < end, unsafe isBlank(line[start]) { start += 1 }
    while end > start, unsafe isBlank(line[end - 1]) { end -= 1 }
    return unsafe line[start..<end]
  }
}

/// The names of fields that servers have sent. They send the same ones again and again, and to check one takes a while.
struct FieldNames {
  /// A server that thinks up names gains nothing.
  private static let capacity = 64

  private var known: [(bytes: [UInt8], name: HTTPField.Name)] = []
  /// Where the next new one goes.
  private var next = 0
  /// Behind the one that was found last: the next head has them in the same order.
  private var cursor = 0

  /// Nil for what is no name.
  mutating func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
    for offset in known.indices {
      var index = cursor + offset
      if index >= known.count { index -= known.count }
      if known[index].bytes.count == bytes.count, unsafe known[index].bytes.elementsEqual(bytes) {
        cursor = index + 1 == known.count ? 0 : index + 1
        return known[index].name
      }
    }
    guard let name = unsafe HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
    if known.count < Self.capacity {
      unsafe known.append(([UInt8](bytes), name))
    } else {
      known[next] = unsafe ([UInt8](bytes), name)
      next = (next + 1) % Self.capacity
    }
    return name
  }
}
