import FoundationEssentials
import HTTPTypes

/// A serializer that puts parameters into the URL or, for methods with a body, into a form-encoded body.
///
/// Each of the other request serializers has a `base`, by default an `HTTPRequestSerializer`, which sets the header fields, and
/// writes the parameters of some methods into the URL.
public struct HTTPRequestSerializer: RequestSerializer {
  /// A function that writes parameters as a query.
  ///
  /// Its result must be percent-encoded. If the function throws an ``HTTPError``, the request fails with that error. If it throws
  /// another error, the request fails with `cannotEncodeRequest`, and the other error is its ``HTTPError/underlying`` error.
  public typealias Query = @Sendable (_ request: HTTPRequest, _ parameters: StructuredValue) throws -> String

  /// The header fields that are added to each request without a field of the same name. Default: `Accept-Language`. Set a field
  /// to nil to remove it.
  public var headerFields: HTTPFields
  /// The methods whose parameters go into the URL. Default: GET, HEAD and DELETE.
  public var queryMethods: Set<HTTPRequest.Method> = [.get, .head, .delete]
  /// The encoder that writes parameters into URLs and bodies. Default: it writes as AFNetworking does.
  public var encoder = URLEncodedFormEncoder()
  /// A function that writes parameters instead of ``encoder``. Default: nil.
  public var query: Query?

  /// Creates a serializer.
  ///
  /// - Parameter headerFields: The header fields that are added to each request without a field of the same name. Default:
  ///   `Accept-Language`, from `HTTPFields.standard()`.
  public init(headerFields: HTTPFields = .standard()) { self.headerFields = headerFields }

  /// Adds an `Authorization` field with a user and a password to every request. The server can read the password, so use this
  /// for https only.
  ///
  /// - Parameters:
  ///   - user: The name of the user, without a colon.
  ///   - password: The password.
  /// - Throws: `cannotEncodeRequest` for a colon in the name and for control characters, which basic authentication cannot
  ///   encode.
  public mutating func setBasicAuthorization(user: String, password: String) throws(HTTPError) {
    let isControl: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || $0.value == 0x7f }
    guard !user.contains(":"), !"\(user)\(password)".unicodeScalars.contains(where: isControl) else {
      throw HTTPError(.cannotEncodeRequest, "basic authorization", message: "a colon or a control character")
    }
    headerFields[.authorization] = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }

  /// Removes the `Authorization` field.
  public mutating func removeAuthorization() { headerFields[.authorization] = nil }

  /// Returns the request with the header fields and the parameters.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Returns: The request, and its body with the type `application/x-www-form-urlencoded`; for ``queryMethods``, the
  ///   parameters are in the URL and the body is empty.
  /// - Throws: `cannotEncodeRequest` if the parameters cannot be encoded, and `badURL` if the URL has no scheme or no host.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    var request = try prepare(request, url: url)
    let query = try parameters.map { parameters throws(HTTPError) in try encode(parameters, for: request) } ?? ""
    guard queryMethods.contains(request.method) else {
      return (request, .data(Data(query.utf8), contentType: "application/x-www-form-urlencoded"))
    }
    if !query.isEmpty { try request.append(query: query) }
    return (request, .empty)
  }

  /// Returns the request with a body that `encode` writes. The parameters of methods without a body still go into the URL.
  package func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?, as contentType: String,
    _ encode: (StructuredValue) throws(HTTPError) -> Data
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    guard !queryMethods.contains(request.method) else {
      return try serialize(request, url: url, parameters: parameters)
    }
    let request = try prepare(request, url: url)
    guard let parameters else { return (request, .empty) }
    return (request, .data(try encode(parameters), contentType: contentType))
  }

  /// Returns the request with its URL and the default header fields, but without parameters.
  package func prepare(_ request: HTTPRequest, url: URL?) throws(HTTPError) -> HTTPRequest {
    var request = request
    if let url { try request.setAddress(url) }
    let own = request.headerFields
    for field in headerFields where !own.contains(field.name) { request.headerFields.append(field) }
    return request
  }

  private func encode(_ parameters: StructuredValue, for request: HTTPRequest) throws(HTTPError) -> String {
    guard let query else { return try encoder.encode(parameters) }
    do {
      return try query(request, parameters)
    } catch let error as HTTPError {
      throw error
    } catch {
      throw HTTPError(.cannotEncodeRequest, "encode the query", message: "\(error)", underlying: error)
    }
  }
}

extension HTTPRequest {
  /// Sets the URL without its credentials, which go into header fields. Its fragment stays for who reads the response, and is never
  /// sent.
  mutating func setAddress(_ url: URL) throws(HTTPError) {
    guard let scheme = url.scheme, let name = url.host(percentEncoded: true),
      let host = Authority.ascii(host: name.contains(":") ? "[\(name)]" : name)
    else {
      throw HTTPError(
        .badURL, "make a request for \(HTTPRequest.publicPart(of: url.absoluteString))",
        message: "it has no scheme or no host")
    }
    let path = url.path(percentEncoded: true)
    self.scheme = scheme
    authority = host + (url.port.map { ":\($0)" } ?? "")
    self.path =
      (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
      + (url.fragment(percentEncoded: true).map { "#\($0)" } ?? "")
  }

  /// Adds to the query of the path.
  mutating func append(query: String) throws(HTTPError) {
    guard let path else { throw HTTPError(.badURL, "make a request", message: "it has no path for the query") }
    // A space or a line break would end the path, and a fragment would end the query.
    guard query.utf8.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "#") }) else {
      throw HTTPError(.cannotEncodeRequest, "encode the query", message: "it is not escaped")
    }
    self.path = URLEncodedFormEncoder.appending(query, to: path)
  }
}
