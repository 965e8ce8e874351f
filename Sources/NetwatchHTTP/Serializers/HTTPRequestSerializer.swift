import FoundationEssentials
import HTTPTypes
import NetwatchEventLoop
import NetwatchLibC

/// A serializer that puts parameters into a request.
public protocol RequestSerializer: Sendable {
  /// Returns the request with its parameters. Called on the caller's thread, before a task begins.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields, which take precedence.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Returns: The complete request and its body. The body is ``HTTPBody/empty`` if there is none.
  /// - Throws: An error if the parameters cannot be encoded. Then nothing is sent.
  func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody)
}

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
  fileprivate mutating func setAddress(_ url: URL) throws(HTTPError) {
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

extension HTTPFields {
  /// Returns the header fields that a serializer adds to every request: the languages of the user, and the name of the program
  /// if you pass one.
  ///
  /// - Parameters:
  ///   - languages: The languages in the order of preference. Default: those of the process's locale. If there are none, the
  ///     field is left out.
  ///   - userAgent: The field `User-Agent`. Default: nil, ``HTTPSessionConfiguration/userAgent`` decides.
  public static func standard(
    languages: [String] = HTTPFields.preferredLanguages(), userAgent: String? = nil
  ) -> HTTPFields {
    var fields = HTTPFields()
    fields[.userAgent] = userAgent
    if !languages.isEmpty { fields[.acceptLanguage] = acceptLanguage(languages) }
    return fields
  }

  /// Returns `name/version (system; machine)` in ASCII. Other letters are left out. NetwatchHTTPFoundation transcribes them.
  ///
  /// - Parameters:
  ///   - name: The name of the program. Default: nil, the name of the process.
  ///   - version: The version of the program. Default: nil, it is left out.
  public static func userAgent(name: String? = nil, version: String? = nil) -> String {
    var product = token(name ?? processName ?? "")
    let version = token(version ?? "")
    if !product.isEmpty, !version.isEmpty { product += "/" }
    product += version
    return "\(product.isEmpty ? "netwatch" : product) (\(system()))"
  }

  /// Returns the languages of the environment, as gettext reads it: `LANGUAGE`, else `LC_ALL`, `LC_MESSAGES`, `LANG`.
  ///
  /// - Parameter environment: The environment variables. Default: nil, those of the process.
  public static func preferredLanguages(environment: [String: String]? = nil) -> [String] {
    func value(_ name: String) -> String? { environment.map { $0[name] } ?? String(environment: name) }
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(value).first { !$0.isEmpty } ?? ""
    // Without a locale there are no translations, whatever `LANGUAGE` lists.
    guard let tag = languageTag(locale) else { return [] }
    let listed = (value("LANGUAGE") ?? "").split(separator: ":").compactMap { languageTag(String($0)) }
    var languages: [String] = []
    for language in listed.isEmpty ? [tag] : listed where !languages.contains(language) { languages.append(language) }
    return languages
  }

  /// Returns the field. The first language has no weight, which means 1. Each one after it has a tenth less, down to a half;
  /// further ones are left out.
  static func acceptLanguage(_ languages: [String]) -> String {
    let weighted = languages.prefix(6).enumerated()
    return weighted.map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ", ")
  }

  /// Converts `de_AT.UTF-8@euro` to de-AT. Nil for C, for POSIX and for text that is not a locale.
  private static func languageTag(_ locale: String) -> String? {
    let name = locale.utf8.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "@") }
    guard name.allSatisfy({ $0.isAlphanumeric || "_-".utf8.contains($0) }) else { return nil }
    let tag = String(decoding: name.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }, as: UTF8.self)
    return ["", "C", "POSIX"].contains(tag) ? nil : tag
  }

  /// RFC 9110 allows no spaces and only ASCII in a product's name.
  private static func token(_ text: String) -> String {
    let bytes = text.utf8.filter { $0 < 0x80 }.map { $0.isOfToken ? $0 : UInt8(ascii: "-") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The name of the process's program. Foundation has it too, but asking Foundation brings 300 KiB of its code into memory.
  private static var processName: String? {
    guard let path = FileDescriptor.target(ofLink: "/proc/self/exe")?.utf8 else { return nil }
    return String(path[(path.lastIndex(of: UInt8(ascii: "/")).map(path.index(after:)) ?? path.startIndex)...])
  }

  private static func system() -> String {
    var names = utsname()
    guard unsafe uname(&names) == 0 else { return "Linux" }
    return "\(text(names.sysname)); \(text(names.machine))"
  }

  /// Returns the text of a C array up to its zero byte.
  private static func text<Array>(_ array: Array) -> String {
    unsafe withUnsafeBytes(of: array) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 && $0 < 0x80 }, as: UTF8.self)
    }
  }
}
