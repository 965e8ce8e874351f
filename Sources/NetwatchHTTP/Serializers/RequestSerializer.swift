import FoundationEssentials
import HTTPTypes

/// Puts parameters into a request.
public protocol RequestSerializer: Sendable {
  /// Called on the caller's thread, before a task begins.
  ///
  /// - Parameters:
  ///   - request: What is known of it already: its method and its own header fields, which win.
  ///   - url: Where it goes; nil where the request says so itself.
  ///   - parameters: Nil for none.
  /// - Returns: the whole request, and its body; for none, ``HTTPBody/empty``.
  /// - Throws: where they can not be encoded. Then nothing is sent.
  func serialize(
    _ request: HTTPRequest, url: URL?, parameters: RequestParameters?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody)
}

extension HTTPBody {
  /// No body, of no type.
  public static var empty: HTTPBody { .data(Data()) }
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
    self.path = QueryString.appending(query, to: path)
  }
}
