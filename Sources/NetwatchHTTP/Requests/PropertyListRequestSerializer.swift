import Foundation
import HTTPTypes

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
    _ request: HTTPRequest, url: URL?, parameters: RequestParameters?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    guard !base.queryMethods.contains(request.method) else {
      return try base.serialize(request, url: url, parameters: parameters)
    }
    let request = try base.prepare(request, url: url)
    guard let parameters else { return (request, .empty) }
    return (request, .data(try encode(parameters), contentType: "application/x-plist"))
  }

  private func encode(_ parameters: RequestParameters) throws(HTTPError) -> Data {
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
