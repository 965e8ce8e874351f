import Foundation
import HTTPTypes
import NetwatchHTTP

/// A serializer that decodes JSON to a tree of values. A body that is empty, or a single space, becomes nil.
public struct JSONResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and `application/json`, `text/json`, `text/javascript`
  /// or a type that ends with `+json`.
  public var validation: ResponseValidation
  /// The options for reading. Default: none, only an array or a dictionary is allowed as the outermost value.
  public var options: JSONSerialization.ReadingOptions
  /// Whether nulls are removed from dictionaries and arrays. Default: false.
  public var removesKeysWithNullValues: Bool

  /// Creates a serializer.
  ///
  /// - Parameters:
  ///   - validation: The responses that are accepted. Default: a status from 200 to 299, and a JSON type.
  ///   - options: The options for reading. Default: none.
  ///   - removesKeysWithNullValues: Whether nulls are removed from dictionaries and arrays. Default: false.
  public init(
    validation: ResponseValidation = .json, options: JSONSerialization.ReadingOptions = [],
    removesKeysWithNullValues: Bool = false
  ) {
    self.validation = validation
    self.options = options
    self.removesKeysWithNullValues = removesKeysWithNullValues
  }

  /// Returns the value of a JSON body. Nil if the body is empty or a single space.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, with the value as `HTTPError.decoded`.
  ///   `cannotDecodeContentData` if the type is not accepted, or the body is not JSON.
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
