import Foundation
import FoundationXML

/// XML that nobody has read yet.
public struct XMLBody: Hashable, Sendable {
  public let data: Data

  /// A new parser, which begins when its `parse()` is called, and tells its delegate on that thread. It fetches nothing
  /// that the document names.
  public func makeParser() -> XMLParser {
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    return parser
  }
}
