import Foundation
import HTTPTypes
import NetwatchHTTP

/// Makes a tree of values from JSON. A body that is empty, or a single space, is nil.
public struct JSONResponseSerializer: ResponseSerializer {
  /// Default: a status from 200 to 299, and `application/json`, `text/json`, `text/javascript` or a type that ends with
  /// `+json`.
  public var validation: ResponseValidation
  /// How it is read. Default: nothing but arrays and dictionaries outermost.
  public var options: JSONSerialization.ReadingOptions
  /// Whether nulls are left out, of dictionaries and of arrays. Default false.
  public var removesKeysWithNullValues: Bool

  public init(
    validation: ResponseValidation = .json, options: JSONSerialization.ReadingOptions = [],
    removesKeysWithNullValues: Bool = false
  ) {
    self.validation = validation
    self.options = options
    self.removesKeysWithNullValues = removesKeysWithNullValues
  }

  public func serialize(
    _ response: HTTPResponse, body: Data, request: HTTPRequest?
  ) throws(HTTPError) -> StructuredValue? {
    try validation.decode(response, body: body, request: request, as: "decode JSON", decode)
  }

  private func decode(_ body: Data) throws -> StructuredValue? {
    // Rails' `head :ok` sent a space.
    guard !body.isEmpty, body != Data(" ".utf8) else { return nil }
    let object = try JSONSerialization.jsonObject(with: body, options: options)
    guard let value = StructuredValue(foundation: object) else {
      throw HTTPError(.cannotDecodeContentData, "decode JSON", message: "more than \(StructuredValue.deepest) levels")
    }
    return removesKeysWithNullValues ? value.removingNulls() : value
  }
}
