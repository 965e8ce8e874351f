import Glibc
import HTTPTypes

/// Reads the head of a response, line by line as libcurl hands it over.
///
/// Every line is what a server chose to send.
@safe final class HeadReader {
  /// More than an honest server needs.
  static let mostBytes = 256 * 1_024

  /// Nil until its empty line has come, and again when another head follows.
  private(set) var head: ResponseHead?
  /// The fields behind the body; nil for none.
  private(set) var trailers: HTTPFields?
  private var trailerBytes = 0
  private let memory: HeadMemory
  /// The lines that have come are its first ones, and have not been read.
  private var known: ResponseHead?
  /// What of `known` has not come.
  private var expected = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

  // MARK: What has been read

  private var response: HTTPResponse?
  private var bodyLength: Int64?
  private var codings = BodyCodings()
  private var isEncoded = false
  /// The last line was a field, which the next one may continue.
  private var canFold = false
  /// The value of the last field, with what continues it; empty where nothing does.
  private var folded: [UInt8] = []
  private var hasFoldedLength = false
  private var bytes = 0
  /// For the next time; nil where this one is not worth it.
  private var text: [UInt8]? = []

  init(_ memory: HeadMemory) { self.memory = memory }

  /// The head of another attempt's response.
  func begin() {
    head = nil
    known = memory.last
    unsafe expected = known?.text ?? UnsafeRawBufferPointer(start: nil, count: 0)
    if bytes > 0 { forget() }
    if trailerBytes > 0 { (trailers, trailerBytes) = (nil, 0) }
  }

  private func forget() {
    response = nil
    bodyLength = nil
    codings = BodyCodings()
    isEncoded = false
    canFold = false
    folded = []
    hasFoldedLength = false
    bytes = 0
    text = []
  }

  /// The head of a response that has not come by libcurl. Its body has no codings.
  ///
  /// - Parameter length: Of the body, where that is known better than from the head.
  func take(_ response: HTTPResponse, length: Int64?) {
    let length = length ?? response.headerFields[.contentLength].flatMap { Int64($0) }
    head = ResponseHead(
      text: [], response: response, code: response.status.code, bodyLength: length.flatMap { $0 >= 0 ? $0 : nil },
      codings: BodyCodings())
  }

  /// - Returns: what is wrong with it; nil for a line of HTTP.
  func append(_ line: UnsafeRawBufferPointer) -> String? {
    // Most often: with nothing counted, copied or looked up.
    if let next = unsafe expected.baseAddress, let start = line.baseAddress, unsafe line.count <= expected.count,
      unsafe memcmp(next, start, line.count) == 0
    {
      unsafe expected = UnsafeRawBufferPointer(start: next + line.count, count: expected.count - line.count)
      if unsafe expected.isEmpty { head = known.take() }
      return nil
    }
    return unsafe appendUnknown(line)
  }

  private func appendUnknown(_ line: UnsafeRawBufferPointer) -> String? {
    if let known = known.take() { readBeginning(of: known) }
    bytes += line.count
    guard bytes <= Self.mostBytes else { return "its head is too long" }
    unsafe read(line)
    if hasFoldedLength { return "the length of its body is folded" }
    return nil
  }

  /// A line behind the body. What is no field is left out.
  ///
  /// - Returns: what is wrong with it; nil for a line of HTTP.
  func append(trailer line: UnsafeRawBufferPointer) -> String? {
    trailerBytes += line.count
    guard trailerBytes <= Self.mostBytes else { return "its trailers are too long" }
    let content = unsafe Self.trimmed(line[...])
    if unsafe line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") {
      unsafe foldTrailer(content)
    } else if let field = unsafe field(content) {
      trailers = trailers ?? HTTPFields()
      trailers?.append(field)
    }
    return nil
  }

  private func foldTrailer(_ text: Slice<UnsafeRawBufferPointer>) {
    guard unsafe !text.isEmpty, let fields = trailers, let last = fields.last else { return }
    let value = unsafe last.withUnsafeBytesOfValue { unsafe Array($0) } + [UInt8(ascii: " ")] + text
    trailers?[fields.endIndex - 1] = HTTPField(name: last.name, lenientValue: value)
  }

  /// It is another one after all.
  private func readBeginning(of known: ResponseHead) {
    var rest = unsafe known.text[..<(known.text.count - expected.count)]
    unsafe expected = UnsafeRawBufferPointer(start: nil, count: 0)
    bytes = unsafe rest.count
    while let end = unsafe rest.firstIndex(of: UInt8(ascii: "\n")) {
      unsafe read(UnsafeRawBufferPointer(rebasing: rest[...end]))
      unsafe rest = rest[(end + 1)...]
    }
  }

  private func read(_ line: UnsafeRawBufferPointer) {
    if let count = text?.count {
      if count + line.count > ResponseHead.mostBytes { text = nil } else { unsafe text?.append(contentsOf: line) }
    }
    let content = unsafe Self.trimmed(line[...])
    if unsafe line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") { return unsafe fold(content) }
    endFold()
    canFold = false
    if unsafe content.isEmpty {
      end()
    } else if let status = unsafe Self.status(content) {
      // It follows a whole one.
      if head != nil { text = nil }
      head = nil
      response = HTTPResponse(status: status)
      bodyLength = nil
      isEncoded = false
      codings = BodyCodings()
    } else if head == nil {
      unsafe append(field: content)
    }
  }

  private func end() {
    guard head == nil, let response else { return }
    let code = response.status.code
    guard !(100..<200 ~= code) else { return }
    let whole = ResponseHead(
      text: text ?? [], response: response, code: code, bodyLength: isEncoded ? nil : bodyLength, codings: codings)
    head = whole
    if text != nil { memory.last = whole }
  }

  private func append(field line: Slice<UnsafeRawBufferPointer>) {
    guard let (name, value) = unsafe nameAndValue(line) else { return }
    if name == .contentLength {
      bodyLength = unsafe Self.number(value)
    } else if name == .contentEncoding || name == .transferEncoding {
      isEncoded = true
      let text = unsafe String(decoding: value, as: UTF8.self)
      if name == .contentEncoding { codings.add(contentEncoding: text) } else { codings.add(transferEncoding: text) }
    }
    unsafe response?.headerFields.append(HTTPField(name: name, lenientValue: UnsafeRawBufferPointer(rebasing: value)))
    canFold = true
  }

  private func field(_ line: Slice<UnsafeRawBufferPointer>) -> HTTPField? {
    guard let (name, value) = unsafe nameAndValue(line) else { return nil }
    return unsafe HTTPField(name: name, lenientValue: UnsafeRawBufferPointer(rebasing: value))
  }

  /// Nil for what is no field.
  private func nameAndValue(
    _ line: Slice<UnsafeRawBufferPointer>
  ) -> (HTTPField.Name, Slice<UnsafeRawBufferPointer>)? {
    guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
      let name = unsafe memory.name(UnsafeRawBufferPointer(rebasing: line[..<colon]))
    else { return nil }
    return unsafe (name, Self.trimmed(line[(colon + 1)...]))
  }

  /// A line that continues the last field, which one space joins (RFC 9112, section 5.2).
  private func fold(_ text: Slice<UnsafeRawBufferPointer>) {
    guard canFold, unsafe !text.isEmpty, let last = response?.headerFields.last else { return }
    // libcurl reads each line alone, and would see another body than this head announces.
    if last.name == .contentLength || last.name == .transferEncoding { hasFoldedLength = true }
    if folded.isEmpty { folded = unsafe last.withUnsafeBytesOfValue { unsafe Array($0) } }
    if !folded.isEmpty { folded.append(UInt8(ascii: " ")) }
    unsafe folded.append(contentsOf: text)
  }

  /// No further line continues the last field.
  private func endFold() {
    guard !folded.isEmpty, let fields = response?.headerFields, let last = fields.last else { return }
    response?.headerFields[fields.endIndex - 1] = HTTPField(name: last.name, lenientValue: folded)
    folded = []
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

/// What a session remembers of the heads that its servers have sent: the next ones are much the same.
final class HeadMemory {
  var last: ResponseHead?

  // MARK: Names of fields
  // Servers send the same ones again and again, and to check one takes a while.

  /// A server that thinks up names gains nothing.
  private static let capacity = 64

  private var names: [(bytes: [UInt8], name: HTTPField.Name)] = []
  /// Where the next new one goes.
  private var next = 0
  /// Behind the one that was found last: the next head has them in the same order.
  private var cursor = 0

  /// Nil for what is no name.
  func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
    for offset in names.indices {
      var index = cursor + offset
      if index >= names.count { index -= names.count }
      if names[index].bytes.count == bytes.count, unsafe names[index].bytes.elementsEqual(bytes) {
        cursor = index + 1 == names.count ? 0 : index + 1
        return names[index].name
      }
    }
    guard let name = unsafe HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
    if names.count < Self.capacity {
      unsafe names.append(([UInt8](bytes), name))
    } else {
      names[next] = unsafe ([UInt8](bytes), name)
      next = (next + 1) % Self.capacity
    }
    return name
  }
}
