import FoundationEssentials
import HTTPTypes

/// Parameters in the URL or, for methods that have a body, in one that is written like a query.
///
/// The other serializers have one of these as their `base`, for the header fields and for the methods
/// whose parameters go into the URL.
public struct HTTPRequestSerializer: RequestSerializer {
  /// Writes parameters as a query.
  ///
  /// What it returns has to be escaped. Whatever it throws fails the request: an ``HTTPError`` as it is, another error
  /// beneath `cannotEncodeRequest`.
  public typealias Query = @Sendable (_ request: HTTPRequest, _ parameters: StructuredValue) throws -> String

  /// Of every request that does not have a field of that name itself. Default: `Accept-Language`.
  /// Setting one to nil removes it.
  public var headerFields: HTTPFields
  /// The methods whose parameters go into the URL. Default: GET, HEAD, DELETE.
  public var queryMethods: Set<HTTPRequest.Method> = [.get, .head, .delete]
  /// How parameters are written into URLs and bodies. Default: as AFNetworking writes them.
  public var encoder = URLEncodedFormEncoder()
  /// Writes parameters in the place of ``encoder``. Default: nil.
  public var query: Query?

  /// - Parameter headerFields: Of every request that does not have a field of that name itself.
  public init(headerFields: HTTPFields = .standard()) { self.headerFields = headerFields }

  /// Has every request say who asks, where the server can read it: only for https.
  ///
  /// - Throws: `cannotEncodeRequest` for a name with a colon or for control characters, which basic authentication has
  ///   no way to write.
  public mutating func setBasicAuthorization(user: String, password: String) throws(HTTPError) {
    let isControl: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || $0.value == 0x7f }
    guard !user.contains(":"), !"\(user)\(password)".unicodeScalars.contains(where: isControl) else {
      throw HTTPError(.cannotEncodeRequest, "basic authorization", message: "a colon or a control character")
    }
    headerFields[.authorization] = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }

  /// Takes back whatever authorization was set.
  public mutating func removeAuthorization() { headerFields[.authorization] = nil }

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

  /// For a serializer that writes bodies its own way: methods that have none still have their parameters in the URL.
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

  /// The request with its place and the default header fields, but without parameters.
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
  /// Leads to `url`. A fragment is for the reader of the page alone, and credentials are for the header fields.
  mutating func setAddress(_ url: URL) throws(HTTPError) {
    guard let scheme = url.scheme, let name = url.host(percentEncoded: true),
      let host = Authority.ascii(host: name.contains(":") ? "[\(name)]" : name)
    else { throw HTTPError(.badURL, "make a request for \(url)", message: "it has no scheme or no host") }
    let path = url.path(percentEncoded: true)
    self.scheme = scheme
    authority = host + (url.port.map { ":\($0)" } ?? "")
    self.path = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
  }

  /// Adds to the query of the path.
  mutating func append(query: String) throws(HTTPError) {
    guard let path else { throw HTTPError(.badURL, "make a request", message: "it has no path for the query") }
    // A space or a line break would end the path, and a fragment the query.
    guard query.utf8.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "#") }) else {
      throw HTTPError(.cannotEncodeRequest, "encode the query", message: "it is not escaped")
    }
    self.path = URLEncodedFormEncoder.appending(query, to: path)
  }
}
