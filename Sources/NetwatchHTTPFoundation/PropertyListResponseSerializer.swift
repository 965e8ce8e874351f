import Foundation
import HTTPTypes
import NetwatchHTTP

/// Makes a tree of values from a property list, XML or binary. An empty body is nil.
public struct PropertyListResponseSerializer: ResponseSerializer {
  /// Default: a status from 200 to 299, and `application/x-plist`.
  public var validation: ResponseValidation

  public init(validation: ResponseValidation = .propertyList) { self.validation = validation }

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
