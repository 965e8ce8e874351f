import Foundation
import HTTPTypes
import NetwatchHTTP

/// A serializer that sends parameters as a JSON body, or in the URL for methods without a body.
public struct JSONRequestSerializer: RequestSerializer {
  /// The serializer that sets the header fields, and the query for methods without a body.
  public var base: HTTPRequestSerializer
  /// The format of the JSON. Default: sorted by key, with only an array or a dictionary as the outermost value.
  public var options: JSONSerialization.WritingOptions

  /// Creates a serializer.
  ///
  /// - Parameters:
  ///   - base: The serializer that sets the header fields, and the query for methods without a body. Default: a new one.
  ///   - options: The format of the JSON. Default: sorted by key.
  public init(
    base: HTTPRequestSerializer = HTTPRequestSerializer(), options: JSONSerialization.WritingOptions = .sortedKeys
  ) {
    self.base = base
    self.options = options
  }

  /// Returns the request, with its parameters as a JSON body. Without parameters, there is no body and no content type.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Throws: `cannotEncodeRequest` for values that JSON cannot contain: sets, bytes, dates, and numbers that are not finite.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    try base.serialize(request, url: url, parameters: parameters, as: "application/json", encode)
  }

  private func encode(_ parameters: StructuredValue) throws(HTTPError) -> Data {
    switch parameters {
    case .array, .dictionary: break
    default:
      guard options.contains(.fragmentsAllowed) else {
        throw StructuredValue.Writing.json.refusal("it without an array or a dictionary around it")
      }
    }
    let object = try parameters.foundationObject(for: .json)
    do {
      return try JSONSerialization.data(withJSONObject: object, options: options)
    } catch {
      throw HTTPError(.cannotEncodeRequest, "encode JSON", message: "\(error)", underlying: error)
    }
  }
}
