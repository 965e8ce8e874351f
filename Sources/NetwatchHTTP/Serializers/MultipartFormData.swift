import FoundationEssentials
import HTTPTypes

/// A form with files (`multipart/form-data`, RFC 7578), which is read and assembled while it is sent.
///
/// A file in the form is never in memory as a whole. The length of the form is known before the first byte.
public struct MultipartFormData: Sendable {
  /// The text that separates the parts. Default: a random text.
  public let boundary: String
  private var parts: [(head: String, body: HTTPBody, length: Int64)] = []
  private var pace: (packetSize: Int, delay: Duration)?
  /// The error that is thrown when the body is requested. Nil if there is none.
  private var refusal: HTTPError?

  /// Creates an empty form with a random boundary.
  public init() {
    let number = UInt128.random(in: 0...UInt128.max)
    boundary = "netwatch-" + String(number, radix: 16)
  }

  /// Creates an empty form with a boundary.
  ///
  /// - Parameter boundary: The text that separates the parts. It must not appear in any part, which is not checked.
  /// - Throws: `cannotEncodeRequest` for a boundary that RFC 2046 does not allow: an empty one, one of more than 70 bytes, or
  ///   one with characters other than ASCII letters, digits and `'()+_,-./:=?`.
  public init(boundary: String) throws(HTTPError) {
    guard 1...70 ~= boundary.utf8.count, boundary.utf8.allSatisfy(Self.isAllowedInBoundary) else {
      throw HTTPError(.cannotEncodeRequest, "make a form", message: "'\(boundary)' is no boundary")
    }
    self.boundary = boundary
  }

  /// Adds a part with bytes in memory.
  ///
  /// - Parameters:
  ///   - data: The bytes.
  ///   - name: The name of the field. Quotes and control characters are escaped, as in `fileName`.
  ///   - fileName: The file name, which makes the part a file for the server. Default: nil, none.
  ///   - contentType: The content type. Default: nil, none is sent, which means plain text. A line break or a NUL in it is an
  ///     error of ``body(parameters:)``.
  public mutating func append(_ data: Data, name: String, fileName: String? = nil, contentType: String? = nil) {
    add(.data(data), Int64(data.count), contentType, name: name, fileName: fileName)
  }

  /// Adds a file, which is read while the form is sent. Its length is the present size of the file.
  ///
  /// - Parameters:
  ///   - url: The URL of the file.
  ///   - name: The name of the field.
  ///   - fileName: The file name that is sent. Default: nil, the name of the file.
  ///   - contentType: The content type. Default: nil, the type for the extension of the name, else `application/octet-stream`.
  /// - Throws: `fileFailed` if the file is not a regular file, does not exist, or cannot be read now. A later failure fails the
  ///   request.
  public mutating func append(
    file url: URL, name: String, fileName: String? = nil, contentType: String? = nil
  ) throws(HTTPError) {
    let body = try HTTPBody.file(url)
    let fileName = fileName ?? url.lastPathComponent
    let contentType = contentType ?? HTTPBody.contentType(ofFile: fileName) ?? "application/octet-stream"
    try append(body, name: name, fileName: fileName, contentType: contentType)
  }

  /// Adds a part with any body of known length, such as ``HTTPBody/sequence(_:length:contentType:)``.
  ///
  /// - Parameters:
  ///   - body: The content of the part.
  ///   - name: The name of the field.
  ///   - fileName: The file name, which makes the part a file for the server. Default: nil, none.
  ///   - contentType: The content type. Default: nil, the type of the body.
  /// - Throws: `cannotEncodeRequest` for a body of unknown length.
  public mutating func append(
    _ body: HTTPBody, name: String, fileName: String? = nil, contentType: String? = nil
  ) throws(HTTPError) {
    let length = try Self.length(of: body)
    add(body, length, contentType ?? body.contentType, name: name, fileName: fileName)
  }

  /// Adds a part with its own header fields, in their order.
  ///
  /// - Parameters:
  ///   - body: The content of the part.
  ///   - headerFields: The header fields of the part, such as `Content-Disposition`.
  /// - Throws: `cannotEncodeRequest` for a body of unknown length.
  public mutating func append(_ body: HTTPBody, headerFields: HTTPFields) throws(HTTPError) {
    parts.append((Self.head(headerFields), body, try Self.length(of: body)))
  }

  /// Slows down the sending of the form, for networks that suffer from a full queue.
  ///
  /// - Parameters:
  ///   - packetSize: The number of bytes that are sent at once, at least 1. Default: 16 KiB.
  ///   - delay: The pause after each packet. Default: 0.2 seconds.
  public mutating func throttle(packetSize: Int = 16 * 1_024, delay: Duration = .milliseconds(200)) {
    pace = (max(packetSize, 1), delay)
  }

  /// Returns the body of a request: the parameters, sorted by name as in a query, followed by the parts in the order in which
  /// they were added.
  ///
  /// - Parameter parameters: The fields before the parts. Bytes become a part unchanged. Default: nil, none.
  /// - Throws: `cannotEncodeRequest` for a part whose content type contains a line break or a NUL, and for parameters that a
  ///   query cannot contain; bytes are allowed.
  public func body(parameters: StructuredValue? = nil) throws(HTTPError) -> HTTPBody {
    let body = try whole(parameters)
    guard let pace else { return body }
    return body.throttled(packetSize: pace.packetSize, delay: pace.delay)
  }

  /// Writes the form to a file, so that the same form can be sent again: after a failure, or when this value no longer exists.
  ///
  /// The file is written beside its destination and renamed when it is complete, so you get the complete form or no file. The
  /// throttle of the form applies neither to the file nor to the returned body: use ``HTTPBody/throttled(packetSize:delay:)``.
  ///
  /// - Parameters:
  ///   - file: The URL of the file. Its folder must exist.
  ///   - parameters: The fields before the parts, as in ``body(parameters:)``. Default: nil, none.
  ///   - replacesExisting: Whether an existing file is replaced. Default: false, an existing file is an error.
  /// - Returns: The file as a body, with the form's content type and its boundary.
  /// - Throws: `fileFailed` for the file or a part that is a file, the errors of ``body(parameters:)``, and `cancelled` if the
  ///   Swift task is cancelled. Then no file is left.
  public func write(
    to file: URL, parameters: StructuredValue? = nil, replacesExisting: Bool = false
  ) async throws(HTTPError) -> HTTPBody {
    try await whole(parameters).write(to: file, replacesExisting: replacesExisting)
  }

  /// The body without a throttle.
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

  /// The content type. The boundary is in quotes if it is not a single word.
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

  /// An `HTTPField` cannot contain a line break.
  private static func head(_ fields: HTTPFields) -> String {
    fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
  }

  /// Escapes a name as browsers do. A quote or a line break would end the name and allow its author to add fields.
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

/// A serializer that sends parameters and files as a multipart form.
public struct MultipartRequestSerializer: RequestSerializer {
  /// The serializer that sets the header fields of the request.
  public var base: any RequestSerializer
  /// The parts of the form, which follow the parameters.
  public var form: MultipartFormData

  /// Creates a serializer for a form.
  ///
  /// - Parameters:
  ///   - base: The serializer that sets the header fields of the request. Default: a new ``HTTPRequestSerializer``.
  ///   - form: The parts of the form.
  public init(base: any RequestSerializer = HTTPRequestSerializer(), form: MultipartFormData) {
    self.base = base
    self.form = form
  }

  /// Returns the request, with the form as its body. Its content type is always that of the form, because no server could read
  /// the form with another one.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The fields before the parts of the form. Nil for none.
  /// - Throws: `cannotEncodeRequest` for GET and HEAD, which have no body, and for a form that cannot be encoded.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    guard request.method != .get, request.method != .head else {
      throw HTTPError(.cannotEncodeRequest, "send a form", message: "\(request.method) has no body")
    }
    let body = try form.body(parameters: parameters)
    var (request, _) = try base.serialize(request, url: url, parameters: nil)
    request.headerFields[.contentType] = body.contentType
    return (request, body)
  }
}
