import Foundation
import FoundationXML
import HTTPTypes
import NetwatchHTTP

/// A serializer that parses a body into an XML tree, and makes a value from it.
///
/// An `XMLDocument` cannot be passed to another thread, so extract what you need in the closure:
///
/// ```swift
/// let titles = XMLDocumentResponseSerializer { document in
///   try document.nodes(forXPath: "//title").compactMap(\.stringValue)
/// }
/// ```
///
/// To keep the document itself, use ``XMLResponseSerializer`` and ``XMLBody/makeDocument(options:)``.
public struct XMLDocumentResponseSerializer<Value: Sendable>: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and `application/xml`, `text/xml` or a type that ends
  /// with `+xml`.
  public var validation: ResponseValidation
  /// The options for the tree. Default: none. External entities are never loaded.
  public var options: XMLNode.Options
  private let read: @Sendable (XMLDocument) throws -> Value

  /// Creates a serializer.
  ///
  /// - Parameters:
  ///   - validation: The responses that are accepted. Default: a status from 200 to 299, and an XML type.
  ///   - options: The options for the tree. Default: none.
  ///   - read: Makes a value from the document. Any error that it throws becomes `cannotDecodeContentData`.
  public init(
    validation: ResponseValidation = .xml, options: XMLNode.Options = [],
    read: @escaping @Sendable (XMLDocument) throws -> Value
  ) {
    self.validation = validation
    self.options = options
    self.read = read
  }

  /// Returns the value that the closure makes from the document.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, with the value as `HTTPError.decoded`.
  ///   `cannotDecodeContentData` if the type is not accepted, or the body is not XML.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    try validation.decode(response, body: body, request: request, as: "decode XML") { body in
      try read(XMLBody(data: body).makeDocument(options: options))
    }
  }
}
