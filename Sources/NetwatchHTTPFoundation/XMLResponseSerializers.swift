import Foundation
import FoundationXML
import HTTPTypes
import NetwatchHTTP

/// A serializer that checks the response and returns its unparsed XML. You start a parser, and handle its event for each
/// element.
public struct XMLResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and `application/xml`, `text/xml` or a type that ends
  /// with `+xml`.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: a status from 200 to 299, and an XML type.
  public init(validation: ResponseValidation = .xml) { self.validation = validation }

  /// Returns the unparsed XML of a body.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, and `cannotDecodeContentData` if the type is not accepted.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> XMLBody {
    try validation.decode(response, body: body, request: request, as: "hand over XML") { XMLBody(data: $0) }
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and `application/xml`, `text/xml`, or a type that ends with `+xml`, such as `application/atom+xml`.
  public static let xml = ResponseValidation(contentTypes: ["application/xml", "text/xml", "*/*+xml"])
}

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

/// An XML document that was not parsed yet.
public struct XMLBody: Hashable, Sendable {
  /// The bytes of the document.
  public let data: Data

  /// Creates an unparsed document.
  ///
  /// - Parameter data: The bytes of the document. They are not checked before a parser or a tree is made.
  public init(data: Data) { self.data = data }

  /// Returns a new parser. Its `parse()` method starts it, and calls its delegate on the same thread. It loads no external
  /// entities.
  public func makeParser() -> XMLParser {
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    return parser
  }

  /// Parses the XML into a new tree, which belongs to the caller. It loads no external entities.
  ///
  /// - Parameter options: The options for the tree. Default: none. External entities are never loaded, whatever the options
  ///   are.
  /// - Throws: `cannotDecodeContentData` if the data is not XML, or has more than 256 levels.
  public func makeDocument(options: XMLNode.Options = []) throws(HTTPError) -> XMLDocument {
    // The reader of the tree repairs invalid XML, or crashes on it.
    let parser = makeParser()
    let elements = ElementCount()
    parser.delegate = elements
    guard parser.parse(), elements.isWhole, parser.parserError == nil else {
      throw HTTPError(
        .cannotDecodeContentData, "decode XML",
        message: parser.parserError.map { "\($0)" } ?? "it is no XML, or too deep", underlying: parser.parserError)
    }
    let options = options.subtracting([
      .nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly,
    ]).union(.nodeLoadExternalEntitiesNever)
    do {
      return try XMLDocument(data: data, options: options)
    } catch {
      throw HTTPError(.cannotDecodeContentData, "decode XML", message: "\(error)", underlying: error)
    }
  }
}

/// Finds faults that Foundation's parser does not report: an empty text, elements without an end, and more levels than its tree
/// supports.
private final class ElementCount: NSObject, XMLParserDelegate {
  /// libxml2's limit for a tree (`xmlParserMaxDepth`). Deeper elements would be missing from it.
  private static let deepest = 256

  private var depth = 0
  private var hasAny = false
  private var isTooDeep = false
  var isWhole: Bool { hasAny && depth == 0 && !isTooDeep }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    hasAny = true
    depth += 1
    if depth > Self.deepest { isTooDeep = true }
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    depth -= 1
  }
}
