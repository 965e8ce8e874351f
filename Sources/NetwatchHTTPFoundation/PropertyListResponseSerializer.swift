import Foundation
import HTTPTypes
import NetwatchHTTP

/// A serializer that decodes a property list, XML or binary, to a tree of values. An empty body becomes nil.
public struct PropertyListResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and `application/x-plist`.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: a status from 200 to 299, and `application/x-plist`.
  public init(validation: ResponseValidation = .propertyList) { self.validation = validation }

  /// Returns the value of a property list. Nil if the body is empty.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, with the value as `HTTPError.decoded`.
  ///   `cannotDecodeContentData` if the type is not accepted, or the body is not a property list of plain values.
  public func serialize(
    _ response: HTTPResponse, body: Data, request: HTTPRequest?
  ) throws(HTTPError) -> StructuredValue? {
    try validation.decode(response, body: body, request: request, as: "decode a property list", decode)
  }

  private func decode(_ body: Data) throws -> StructuredValue? {
    guard !body.isEmpty else { return nil }
    let object = try BinaryPropertyListCheck.object(in: body)
    guard let value = StructuredValue(foundation: object) else {
      throw HTTPError(.cannotDecodeContentData, "decode a property list", message: "it has more than plain values")
    }
    return value
  }
}
