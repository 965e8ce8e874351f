import Foundation
import FoundationXML
import NetwatchHTTP

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
