import Foundation
import FoundationXML
import NetwatchHTTP

/// XML that nobody has read yet.
public struct XMLBody: Hashable, Sendable {
  public let data: Data

  /// - Parameter data: the bytes of a document, which are not looked at before a parser or a tree is made.
  public init(data: Data) { self.data = data }

  /// A new parser, which begins when its `parse()` is called, and tells its delegate on that thread. It fetches nothing
  /// that the document names.
  public func makeParser() -> XMLParser {
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    return parser
  }

  /// Reads the XML into a new tree, which belongs to the caller. It fetches nothing that the document names.
  ///
  /// - Parameter options: How the tree is made. Default: none. External entities are never loaded, whatever the options say.
  /// - Throws: `cannotDecodeContentData` for what is no XML, or has more than 256 levels.
  public func makeDocument(options: XMLNode.Options = []) throws(HTTPError) -> XMLDocument {
    // The tree's own reader repairs what is no XML, or dies of it.
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

/// Foundation's parser finds no fault with an empty text, with elements that have no end, and with more levels than its tree has.
private final class ElementCount: NSObject, XMLParserDelegate {
  /// libxml2's limit for a tree (`xmlParserMaxDepth`). What is beneath would be missing from it.
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
