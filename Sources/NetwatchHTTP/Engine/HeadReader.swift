import HTTPTypes

/// The complete head of a response.
struct ResponseHead {
  let response: HTTPResponse
  /// The status code of ``response``.
  let code: Int
  /// The length of the body as it is delivered. Nil if it is not known before the end.
  let bodyLength: Int64?
  /// The codings of the body.
  let codings: BodyCodings
}

extension ResponseHead {
  /// Creates a head that has not come from libcurl. Its body has no codings.
  ///
  /// - Parameter length: The length of the body, if it is known better than from the head.
  init(_ response: HTTPResponse, length: Int64?) {
    let length = length ?? response.headerFields[.contentLength].flatMap { Int64($0) }
    self.init(
      response: response, code: response.status.code, bodyLength: length.flatMap { $0 >= 0 ? $0 : nil },
      codings: BodyCodings())
  }
}

/// Reads the head of a response, line by line as libcurl delivers it.
///
/// The lines are untrusted: a server can send anything.
@safe struct HeadReader {
  /// A line that ends the response with an error.
  struct Flaw: Hashable {
    let reason: HTTPError.Reason
    let message: String

    static func tooLong(_ message: String) -> Flaw { Flaw(reason: .headTooLong, message: message) }
    static func badFraming(_ message: String) -> Flaw { Flaw(reason: .badFraming, message: message) }
  }

  /// The most bytes of a head, and of trailers.
  private let mostBytes: Int
  /// The most lines that continue a trailer.
  private static let mostTrailerFolds = 100

  /// The head. Nil until its empty line has arrived, and again when another head follows.
  private(set) var head: ResponseHead?
  /// The fields after the body; nil if there are none.
  private(set) var trailers: HTTPFields?
  private var trailerBytes = 0
  private var trailerFolds = 0

  /// Whether nothing but the end of the connection ends the body (RFC 9112, section 6.3).
  var endsWithConnection: Bool { head != nil && isHTTP1 && bodyLength == nil && !hasTransferCoding }
  /// The length that the head declares for the body, as it is sent. Nil if it declares none.
  var declaredLength: Int64? { head == nil || hasTransferCoding ? nil : bodyLength }

  // MARK: What has been read

  private var status: HTTPResponse.Status?
  private var fields = HTTPFields()
  private var bodyLength: Int64?
  /// Whether there are several lengths, or one that is no number.
  private var hasBadLength = false
  private var codings = BodyCodings()
  private var isEncoded = false
  /// Whether the body has chunks, or whatever else says where it ends.
  private var hasTransferCoding = false
  private var isHTTP1 = false
  /// Whether the last line was a field, which the next line may continue.
  private var canFold = false
  /// The value of the last field with the lines that continue it. Empty if no line does.
  private var folded: [UInt8] = []
  private var hasFoldedLength = false
  private var bytes = 0

  init(mostBytes: Int) { self.mostBytes = mostBytes }

  /// - Returns: The fault of the line; nil if it is a line of HTTP.
  mutating func append(_ line: UnsafeRawBufferPointer) -> Flaw? {
    bytes += line.count
    guard bytes <= mostBytes else {
      return .tooLong("its head is longer than the \(mostBytes) bytes of maximumHeadBytes")
    }
    unsafe read(line)
    if hasFoldedLength { return .badFraming("the length of its body is folded") }
    if head != nil, hasBadLength, !isEncoded { return .badFraming("the length of its body is not one number") }
    guard fields.count <= HTTPFields.mostReceived else {
      return .tooLong("its head has more than \(HTTPFields.mostReceived) fields")
    }
    return nil
  }

  /// Reads a line after the body. A line that is not a field is left out.
  ///
  /// - Returns: The fault of the line; nil if it is a line of HTTP.
  mutating func append(trailer line: UnsafeRawBufferPointer) -> Flaw? {
    trailerBytes += line.count
    guard trailerBytes <= mostBytes else {
      return .tooLong("its trailers are longer than the \(mostBytes) bytes of maximumHeadBytes")
    }
    let content = unsafe Self.trimmed(line[...])
    if unsafe line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") {
      // Each one copies the whole value. Servers must not send any (RFC 9112, section 5.2).
      trailerFolds += 1
      guard trailerFolds <= Self.mostTrailerFolds else { return .tooLong("its trailers are folded too often") }
      unsafe foldTrailer(content)
    } else if let (name, value) = unsafe nameAndValue(content) {
      guard trailers?.count ?? 0 < HTTPFields.mostReceived else {
        return .tooLong("it has more than \(HTTPFields.mostReceived) trailers")
      }
      trailers = trailers ?? HTTPFields()
      trailers?.append(unsafe HTTPField(name, read: value))
    }
    return nil
  }

  private mutating func foldTrailer(_ text: Slice<UnsafeRawBufferPointer>) {
    guard unsafe !text.isEmpty, let fields = trailers, let last = fields.last else { return }
    let value = unsafe last.withUnsafeBytesOfValue { unsafe Array($0) } + [UInt8(ascii: " ")] + text
    trailers?[fields.endIndex - 1] = HTTPField(name: last.name, lenientValue: value)
  }

  private mutating func read(_ line: UnsafeRawBufferPointer) {
    let content = unsafe Self.trimmed(line[...])
    if unsafe line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") { return unsafe fold(content) }
    endFold()
    canFold = false
    if unsafe content.isEmpty {
      end()
    } else if let status = unsafe Self.status(content) {
      // This head may follow a complete one.
      head = nil
      self.status = status
      fields = HTTPFields()
      (bodyLength, hasBadLength) = (nil, false)
      isEncoded = false
      hasTransferCoding = false
      isHTTP1 = unsafe content.starts(with: "HTTP/1".utf8)
      codings = BodyCodings()
    } else if head == nil {
      unsafe append(field: content)
    }
  }

  private mutating func end() {
    guard head == nil, let status, !(100..<200 ~= status.code) else { return }
    head = ResponseHead(
      response: HTTPResponse(status: status, headerFields: fields), code: status.code,
      bodyLength: isEncoded ? nil : bodyLength, codings: codings)
  }

  private mutating func append(field line: Slice<UnsafeRawBufferPointer>) {
    guard let (name, value) = unsafe nameAndValue(line) else { return }
    if name == .contentLength {
      unsafe take(length: value)
    } else if name == .contentEncoding || name == .transferEncoding {
      isEncoded = true
      let text = unsafe String(decoding: value, as: UTF8.self)
      if name == .contentEncoding {
        codings.add(contentEncoding: text)
      } else {
        hasTransferCoding = true
        codings.add(transferEncoding: text)
      }
    }
    guard status != nil else { return }
    unsafe fields.append(HTTPField(name, read: value))
    canFold = true
  }

  /// Takes a length, which may also be a list of equal ones. Others must be refused, because somebody on the way may have read
  /// another one (RFC 9112, section 6.3).
  private mutating func take(length text: Slice<UnsafeRawBufferPointer>) {
    let lengths = unsafe text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { unsafe Self.number(Self.trimmed($0)) }
    for length in lengths {
      if length == nil || bodyLength != nil && bodyLength != length { hasBadLength = true }
      bodyLength = length ?? bodyLength
    }
  }

  /// Returns the value of a `Set-Cookie` line. Nil for any other line, and for one that is not UTF-8.
  static func cookie(_ line: UnsafeRawBufferPointer) -> String? {
    let name = "set-cookie:".utf8
    guard line.count > name.count, unsafe zip(line, name).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 }) else {
      return nil
    }
    return unsafe String(validating: trimmed(line[name.count...]), as: UTF8.self)
  }

  /// Returns the name and the value of a field. Nil if the line is not a field.
  private func nameAndValue(
    _ line: Slice<UnsafeRawBufferPointer>
  ) -> (HTTPField.Name, Slice<UnsafeRawBufferPointer>)? {
    guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
      let name = unsafe HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
    else { return nil }
    return unsafe (name, Self.trimmed(line[(colon + 1)...]))
  }

  /// Adds a line that continues the last field, joined by one space (RFC 9112, section 5.2).
  private mutating func fold(_ text: Slice<UnsafeRawBufferPointer>) {
    guard canFold, unsafe !text.isEmpty, let last = fields.last else { return }
    // libcurl reads each line alone, and would expect another body than this head announces.
    if last.name == .contentLength || last.name == .transferEncoding { hasFoldedLength = true }
    if folded.isEmpty { folded = unsafe last.withUnsafeBytesOfValue { unsafe Array($0) } }
    if !folded.isEmpty { folded.append(UInt8(ascii: " ")) }
    unsafe folded.append(contentsOf: text)
  }

  /// Ends the last field, which no further line continues.
  private mutating func endFold() {
    guard !folded.isEmpty, let last = fields.last else { return }
    fields[fields.endIndex - 1] = HTTPField(name: last.name, lenientValue: folded)
    folded = []
  }

  /// Returns the status of a line such as `HTTP/1.1 200 OK` or `HTTP/2 200`.
  private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> HTTPResponse.Status? {
    guard unsafe line.starts(with: "HTTP/".utf8), let space = unsafe line.firstIndex(of: UInt8(ascii: " ")) else {
      return nil
    }
    let code = unsafe line[space...].dropFirst().prefix(3)
    guard unsafe code.count == 3, let number = unsafe number(code) else { return nil }
    let reason = unsafe UnsafeRawBufferPointer(rebasing: trimmed(line[code.endIndex...]))
    return HTTPResponse.Status(code: Int(number), reasonPhrase: unsafe String(decoding: reason, as: UTF8.self))
  }

  /// Returns the number that digits tell. Nil for any other text, and for a number that is too large.
  private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
    guard unsafe !text.isEmpty, unsafe text.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return unsafe Int64(String(decoding: text, as: UTF8.self))
  }

  private static func trimmed(_ line: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
    var (start, end) = unsafe (line.startIndex, line.endIndex)
    while start < end, unsafe isBlank(line[start]) { start += 1 }
    while end > start, unsafe isBlank(line[end - 1]) { end -= 1 }
    return unsafe line[start..<end]
  }
}

extension HTTPField {
  /// Creates a field from the bytes of a response. Other bytes than printable ASCII are kept, as far as a value can have them.
  fileprivate init(_ name: Name, read bytes: Slice<UnsafeRawBufferPointer>) {
    if unsafe bytes.allSatisfy({ 0x20...0x7e ~= $0 }) {
      self.init(name: name, value: unsafe String(decoding: bytes, as: UTF8.self))
    } else {
      unsafe self.init(name: name, lenientValue: UnsafeRawBufferPointer(rebasing: bytes))
    }
  }
}
