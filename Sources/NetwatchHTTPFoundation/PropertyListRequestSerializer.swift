import Foundation
import HTTPTypes
import NetwatchHTTP

/// Parameters as a body that is a property list, but in the URL for methods that have no body.
public struct PropertyListRequestSerializer: RequestSerializer {
  /// The two ways to write a property list.
  public enum Format: Sendable { case xml, binary }

  /// The header fields, and the query where there is no body.
  public var base: HTTPRequestSerializer
  /// Default: XML.
  public var format: Format

  public init(base: HTTPRequestSerializer = HTTPRequestSerializer(), format: Format = .xml) {
    self.base = base
    self.format = format
  }

  /// Without parameters there is no body, and no type.
  ///
  /// - Throws: `cannotEncodeRequest` for what a property list has no place for: null and sets, and in XML control
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
