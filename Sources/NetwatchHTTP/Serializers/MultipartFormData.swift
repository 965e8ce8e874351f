import FoundationEssentials
import HTTPTypes

/// A form with files (`multipart/form-data`, RFC 7578), which is read and put together while it is sent.
///
/// A file in it never is in memory as a whole. The length is known before the first byte.
public struct MultipartFormData: Sendable {
  /// What stands between the parts. By itself it is random.
  public let boundary: String
  private var parts: [(head: String, body: HTTPBody, length: Int64)] = []
  private var pace: (packetSize: Int, delay: Duration)?
  /// Why there is no body: told when one is asked for.
  private var refusal: HTTPError?

  public init() {
    let number = UInt128.random(in: 0...UInt128.max)
    boundary = "netwatch-" + String(number, radix: 16)
  }

  /// - Parameter boundary: Must be in none of the parts, which is not checked.
  /// - Throws: `cannotEncodeRequest` for one that RFC 2046 does not allow: more than 70 bytes, other characters than
  ///   ASCII letters, digits and `'()+_,-./:=?`, or none.
  public init(boundary: String) throws(HTTPError) {
    guard 1...70 ~= boundary.utf8.count, boundary.utf8.allSatisfy(Self.isAllowedInBoundary) else {
      throw HTTPError(.cannotEncodeRequest, "make a form", message: "'\(boundary)' is no boundary")
    }
    self.boundary = boundary
  }

  /// Bytes in memory.
  ///
  /// - Parameters:
  ///   - data: What is sent.
  ///   - name: Of the field. Quotes and control characters in it are escaped, as in `fileName`.
  ///   - fileName: Makes it a file in the server's eyes. Default nil.
  ///   - contentType: Default nil: none is sent, which means plain text. A line break or a NUL in it is an error of
  ///     ``body(parameters:)``.
  public mutating func append(_ data: Data, name: String, fileName: String? = nil, contentType: String? = nil) {
    add(.data(data), Int64(data.count), contentType, name: name, fileName: fileName)
  }

  /// A file, which is read while it is sent: as much as is in it now.
  ///
  /// - Parameters:
  ///   - url: Of the file.
  ///   - name: Of the field.
  ///   - fileName: Default nil: its own.
  ///   - contentType: Default nil: by the ending of its name, else `application/octet-stream`.
  /// - Throws: `fileFailed` for what is no regular file, does not exist, or may not be read, now. What goes wrong with
  ///   it later fails the request.
  public mutating func append(
    file url: URL, name: String, fileName: String? = nil, contentType: String? = nil
  ) throws(HTTPError) {
    let body = try HTTPBody.file(url)
    let fileName = fileName ?? url.lastPathComponent
    let contentType = contentType ?? HTTPBody.contentType(ofFile: fileName) ?? "application/octet-stream"
    try append(body, name: name, fileName: fileName, contentType: contentType)
  }

  /// Any body whose length is known, such as ``HTTPBody/sequence(_:length:contentType:)``.
  ///
  /// - Parameters:
  ///   - body: What is sent.
  ///   - name: Of the field.
  ///   - fileName: Makes it a file in the server's eyes. Default nil.
  ///   - contentType: Default nil: what the body says.
  /// - Throws: `cannotEncodeRequest` for a body without a length.
  public mutating func append(
    _ body: HTTPBody, name: String, fileName: String? = nil, contentType: String? = nil
  ) throws(HTTPError) {
    let length = try Self.length(of: body)
    add(body, length, contentType ?? body.contentType, name: name, fileName: fileName)
  }

  /// A part with header fields of the caller's choice, in their order.
  ///
  /// - Throws: `cannotEncodeRequest` for a body without a length.
  public mutating func append(_ body: HTTPBody, headerFields: HTTPFields) throws(HTTPError) {
    parts.append((Self.head(headerFields), body, try Self.length(of: body)))
  }

  /// Slows the sending of the form down, for links that suffer from a full queue.
  ///
  /// - Parameters:
  ///   - packetSize: So many bytes are sent at once; at least 1. Default 16 KiB.
  ///   - delay: And then nothing for so long. Default 0.2 s.
  public mutating func throttle(packetSize: Int = 16 * 1_024, delay: Duration = .milliseconds(200)) {
    pace = (max(packetSize, 1), delay)
  }

  /// The body of a request: the parameters, sorted by name as in a query, then the parts in the order in which they
  /// were added.
  ///
  /// - Throws: `cannotEncodeRequest` for a part whose content type has a line break or a NUL in it, and for parameters
  ///   that a query could not have either, but for bytes: they become a part as they are.
  public func body(parameters: StructuredValue? = nil) throws(HTTPError) -> HTTPBody {
    let body = try whole(parameters)
    guard let pace else { return body }
    return body.throttled(packetSize: pace.packetSize, delay: pace.delay)
  }

  /// Writes the form to a file, so that it can be sent as one: again after a failure, or when this form is gone.
  ///
  /// The file is written beside its place and renamed when it is whole, so there is the whole form or nothing. The form's throttle
  /// counts for neither the file nor the body that is returned: use ``HTTPBody/throttled(packetSize:delay:)``.
  ///
  /// - Parameters:
  ///   - file: where the form goes. Its folder has to exist.
  ///   - parameters: the fields that stand before the parts, as in ``body(parameters:)``.
  ///   - replacesExisting: whether a file that is there is replaced. Default false: it is an error.
  /// - Returns: the file as a body, with the form's content type and its boundary.
  /// - Throws: `fileFailed` for the file or a part that is one, what ``body(parameters:)`` throws, and `cancelled` if the task
  ///   is. Then there is no file.
  public func write(
    to file: URL, parameters: StructuredValue? = nil, replacesExisting: Bool = false
  ) async throws(HTTPError) -> HTTPBody {
    try await whole(parameters).write(to: file, replacesExisting: replacesExisting)
  }

  private func whole(_ parameters: StructuredValue?) throws(HTTPError) -> HTTPBody {
    if let refusal { throw refusal }
    let fields = try parameters.map { value throws(HTTPError) in try URLEncodedFormEncoder().fields(of: value) } ?? []
    var form = MultipartFormData(copying: boundary)
    for field in fields {
      switch field.value {
      case .string(let text): form.append(Data(text.utf8), name: field.name)
      case .data(let data): form.append(data, name: field.name)
      default: form.append(Data(), name: field.name)
      }
    }
    form.parts += parts
    return try form.joined(contentType: contentType)
  }
}

extension MultipartFormData {
  private init(copying boundary: String) { self.boundary = boundary }

  private mutating func add(
    _ body: HTTPBody, _ length: Int64, _ contentType: String?, name: String, fileName: String?
  ) {
    do throws(HTTPError) {
      try HTTPFields.check(text: contentType, "the content type of the part '\(Self.escape(name))'")
    } catch {
      refusal = refusal ?? error
    }
    let fields: HTTPFields = contentType.map { [.contentType: $0] } ?? [:]
    var disposition = "form-data; name=\"\(Self.escape(name))\""
    if let fileName { disposition += "; filename=\"\(Self.escape(fileName))\"" }
    parts.append(("Content-Disposition: \(disposition)\r\n" + Self.head(fields), body, length))
  }

  private func joined(contentType: String) throws(HTTPError) -> HTTPBody {
    var pieces: [(body: HTTPBody, length: Int64)] = []
    var length: Int64 = 0
    func add(_ body: HTTPBody, _ count: Int64) throws(HTTPError) {
      let (sum, isTooLong) = length.addingReportingOverflow(count)
      guard !isTooLong else { throw HTTPError(.cannotEncodeRequest, "make a form", message: "it is too long") }
      length = sum
      pieces.append((body, count))
    }
    var start = ""
    for part in parts {
      let head = Data("\(start)--\(boundary)\r\n\(part.head)\r\n".utf8)
      try add(.data(head), Int64(head.count))
      try add(part.body, part.length)
      start = "\r\n"
    }
    let end = Data("\(start)--\(boundary)--\r\n".utf8)
    try add(.data(end), Int64(end.count))
    let all = pieces
    return HTTPBody(length: length, contentType: contentType) { wake in JoinedSource(all, wake: wake) }
  }

  /// With the boundary in quotes where it is more than a word.
  var contentType: String {
    let isWord = boundary.utf8.allSatisfy { !"(),/:=?".utf8.contains($0) }
    return "multipart/form-data; boundary=" + (isWord ? boundary : "\"\(boundary)\"")
  }

  private static func length(of body: HTTPBody) throws(HTTPError) -> Int64 {
    guard let length = body.length, length >= 0 else {
      throw HTTPError(.cannotEncodeRequest, "add a part to a form", message: "its length is not known")
    }
    return length
  }

  /// `HTTPField` lets no line break through.
  private static func head(_ fields: HTTPFields) -> String {
    fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
  }

  /// As browsers do it. A quote or a line break would end the name, and begin whatever somebody has put behind it.
  private static func escape(_ name: String) -> String {
    var escaped = ""
    for scalar in name.unicodeScalars {
      if scalar.value < 0x20 || scalar == "\"" || scalar.value == 0x7f {
        let byte = UInt8(scalar.value)
        let digits = [URLEncodedFormEncoder.hexDigit(byte >> 4), URLEncodedFormEncoder.hexDigit(byte & 0xf)]
        escaped += "%" + String(decoding: digits, as: UTF8.self)
      } else {
        escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func isAllowedInBoundary(_ byte: UInt8) -> Bool {
    byte.isAlphanumeric || "'()+_,-./:=?".utf8.contains(byte)
  }
}
