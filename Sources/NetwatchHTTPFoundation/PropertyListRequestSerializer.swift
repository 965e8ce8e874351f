import Foundation
import HTTPTypes
import NetwatchHTTP

/// A serializer that sends parameters as a property list, or in the URL for methods without a body.
public struct PropertyListRequestSerializer: RequestSerializer {
  /// The formats of a property list: XML or binary.
  public enum Format: Sendable { case xml, binary }

  /// The serializer that sets the header fields, and the query for methods without a body.
  public var base: HTTPRequestSerializer
  /// The format of the property list. Default: XML.
  public var format: Format

  /// Creates a serializer.
  ///
  /// - Parameters:
  ///   - base: The serializer that sets the header fields, and the query for methods without a body. Default: a new one.
  ///   - format: The format of the property list. Default: XML.
  public init(base: HTTPRequestSerializer = HTTPRequestSerializer(), format: Format = .xml) {
    self.base = base
    self.format = format
  }

  /// Returns the request, with its parameters as a property list. Without parameters, there is no body and no content type.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Throws: `cannotEncodeRequest` for values that a property list cannot contain: null and sets, and in XML also control
  ///   characters.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    try base.serialize(request, url: url, parameters: parameters, as: "application/x-plist", encode)
  }

  private func encode(_ parameters: StructuredValue) throws(HTTPError) -> Data {
    let isXML = format == .xml
    let object = try parameters.foundationObject(for: isXML ? .xmlPropertyList : .binaryPropertyList)
    do {
      return try PropertyListSerialization.data(
        fromPropertyList: object, format: isXML ? .xml : .binary, options: 0)
    } catch {
      throw HTTPError(.cannotEncodeRequest, "encode a property list", message: "\(error)", underlying: error)
    }
  }
}
