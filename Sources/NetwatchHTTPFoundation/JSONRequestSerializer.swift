import Foundation
import HTTPTypes
import NetwatchHTTP

/// Parameters as a body of JSON, but in the URL for methods that have no body.
public struct JSONRequestSerializer: RequestSerializer {
  /// The header fields, and the query where there is no body.
  public var base: HTTPRequestSerializer
  /// How it is written. Default: sorted by key, and nothing but arrays and dictionaries outermost.
  public var options: JSONSerialization.WritingOptions

  public init(
    base: HTTPRequestSerializer = HTTPRequestSerializer(), options: JSONSerialization.WritingOptions = .sortedKeys
  ) {
    self.base = base
    self.options = options
  }

  /// Without parameters there is no body, and no type.
  ///
  /// - Throws: `cannotEncodeRequest` for what JSON has no place for: sets, bytes, dates, numbers that are not finite.
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
