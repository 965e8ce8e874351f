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
