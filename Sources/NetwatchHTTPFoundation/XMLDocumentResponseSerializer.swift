import Foundation
import FoundationXML
import HTTPTypes
import NetwatchHTTP

/// Reads a body as a tree of XML, and makes a value of it.
///
/// An `XMLDocument` cannot be given to another thread, so what you need of it is taken out where it is made:
///
/// ```swift
/// let titles = XMLDocumentResponseSerializer { document in
///   try document.nodes(forXPath: "//title").compactMap(\.stringValue)
/// }
/// ```
///
/// To keep the document itself, use ``XMLResponseSerializer`` and ``XMLBody/makeDocument(options:)``.
public struct XMLDocumentResponseSerializer<Value: Sendable>: ResponseSerializer {
  /// Default: a status from 200 to 299, and `application/xml`, `text/xml` or a type that ends with `+xml`.
  public var validation: ResponseValidation
  /// How the tree is made. Default: none. External entities are never loaded.
  public var options: XMLNode.Options
  private let read: @Sendable (XMLDocument) throws -> Value

  /// - Parameters:
  ///   - validation: Which statuses and types are accepted.
  ///   - options: How the tree is made.
  ///   - read: Makes a value of the document. Whatever it throws is `cannotDecodeContentData`.
  public init(
    validation: ResponseValidation = .xml, options: XMLNode.Options = [],
    read: @escaping @Sendable (XMLDocument) throws -> Value
  ) {
    self.validation = validation
    self.options = options
    self.read = read
  }

  /// - Throws: `badServerResponse` for a status, with the value as `HTTPError.decoded`; `cannotDecodeContentData` for a type that
  ///   is not accepted, and for what is no XML.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    try validation.decode(response, body: body, request: request, as: "decode XML") { body in
      try read(XMLBody(data: body).makeDocument(options: options))
    }
  }
}
