import HTTPTypes
import Netwatch

extension HTTPResponse {
  /// What Linux's own file systems allow, in bytes.
  private static let longestFilename = 255
  /// A longer ending of a name is no type, and may be cut.
  private static let longestEnding = 16

  /// A name for a file with the response's body. It is safe: it names no folder, and no hidden file.
  ///
  /// The name is the first of these that there is:
  /// 1. `filename*` of `Content-Disposition`, then its `filename` (RFC 6266).
  /// 2. The last part of the path of the request.
  /// 3. `Unknown`, with an ending for the content type.
  ///
  /// Of each, only what follows the last slash or backslash counts, without control characters, invisible characters, and dots
  /// and spaces at its beginning. A name of more than 255 bytes in UTF-8 is cut before its ending.
  ///
  /// - Parameter request: the request that the server has answered. Default nil: there is none to take a name from.
  public func suggestedFilename(for request: HTTPRequest? = nil) -> String {
    let disposition = headerFields[.contentDisposition].map(FieldParameters.init)
    let candidates = [
      disposition?.extendedParameter("filename"), disposition?.parameters["filename"],
      request?.path.flatMap(Self.lastPart),
    ]
    for candidate in candidates {
      if let name = candidate.flatMap(Self.safe) { return name }
    }
    let type = headerFields[.contentType].map { FieldParameters($0).value }
    return "Unknown" + (type.flatMap(HTTPBody.fileEnding).map { ".\($0)" } ?? "")
  }

  private static func lastPart(of path: String) -> String? {
    let path = path.prefix { $0 != "?" && $0 != "#" }
    let part = path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
    return part.percentDecoded ?? String(part)
  }

  /// Nil if nothing is left.
  private static func safe(_ name: String) -> String? {
    var scalars = name.unicodeScalars[...]
    if let slash = scalars.lastIndex(where: { $0 == "/" || $0 == "\\" }) { scalars = scalars[slash...].dropFirst() }
    let visible = scalars.filter(isVisible).drop { $0 == "." || $0.properties.isWhitespace }
    var safe = String(String.UnicodeScalarView(visible))
    while safe.unicodeScalars.last?.properties.isWhitespace == true { safe.unicodeScalars.removeLast() }
    return safe.isEmpty ? nil : cut(safe)
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    // Format characters turn the direction of writing, so that an ending looks like another one.
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
    default: true
    }
  }

  private static func cut(_ name: String) -> String {
    guard name.utf8.count > longestFilename else { return name }
    let dot = name.unicodeScalars.lastIndex(of: ".") ?? name.endIndex
    let ending = name[dot...].utf8.count <= longestEnding ? name[dot...] : ""
    var left = longestFilename - ending.utf8.count
    let stem = name.unicodeScalars.prefix { scalar in
      left -= UTF8.width(scalar)
      return left >= 0
    }
    return String(String.UnicodeScalarView(stem)) + ending
  }
}

extension HTTPReply {
  /// A safe name for a file with the body: see `HTTPResponse.suggestedFilename(for:)`.
  public var suggestedFilename: String { response.suggestedFilename(for: request) }
}
