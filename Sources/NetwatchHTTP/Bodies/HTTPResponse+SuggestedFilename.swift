import HTTPTypes
import Netwatch

extension HTTPResponse {
  /// The longest name in Linux's own file systems, in bytes.
  private static let longestFilename = 255
  /// A longer extension is not a file type and may be cut.
  private static let longestEnding = 16

  /// Returns a safe name for a file with the response's body. It contains no folder, and is never the name of a hidden file.
  ///
  /// The name is the first of these that exists:
  /// 1. `filename*` of `Content-Disposition`, then its `filename` (RFC 6266).
  /// 2. The last part of the path of the request.
  /// 3. `Unknown`, with an extension for the content type.
  ///
  /// Only the text after the last slash or backslash counts. Control characters, invisible characters, and dots and spaces at
  /// the beginning are removed. A name of more than 255 bytes in UTF-8 is shortened before its extension. `.netwatch-part`, which
  /// only partial downloads have in their names, becomes `_netwatch-part`.
  ///
  /// - Parameter request: The request that the server has answered. Default: nil, no path to take a name from.
  public func suggestedFilename(for request: HTTPRequest? = nil) -> String {
    let disposition = headerFields.singleValue(.contentDisposition).map(FieldParameters.init)
    let candidates = [
      disposition?.extendedParameter("filename"), disposition?.parameters["filename"],
      request?.path.flatMap(Self.lastPart),
    ]
    for candidate in candidates {
      if let name = candidate.flatMap(Self.safe) { return name }
    }
    let type = headerFields.singleValue(.contentType).map { FieldParameters($0).value }
    return "Unknown" + (type.flatMap(HTTPBody.fileEnding).map { ".\($0)" } ?? "")
  }

  private static func lastPart(of path: String) -> String? {
    let path = path.prefix { $0 != "?" && $0 != "#" }
    let part = path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
    return part.percentDecoded ?? String(part)
  }

  /// Nil if no character is left.
  private static func safe(_ name: String) -> String? {
    var scalars = name.unicodeScalars[...]
    if let slash = scalars.lastIndex(where: { $0 == "/" || $0 == "\\" }) { scalars = scalars[slash...].dropFirst() }
    let visible = scalars.filter(isVisible).drop { $0 == "." || $0.properties.isWhitespace }
    var safe = String(String.UnicodeScalarView(visible))
    while safe.unicodeScalars.last?.properties.isWhitespace == true { safe.unicodeScalars.removeLast() }
    return safe.isEmpty ? nil : cut(withoutPartSuffix(safe))
  }

  /// Changes a name that a partial download would have, so that no server can make up the beginning of another one's file.
  private static func withoutPartSuffix(_ name: String) -> String {
    var bytes = Array(name.utf8)
    let suffix = OpenFile.partSuffix.utf8
    for place in bytes.indices
    where bytes[place...].lazy.prefix(suffix.count).map(Self.lowercased).elementsEqual(suffix) {
      bytes[place] = UInt8(ascii: "_")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    // Format characters can reverse the direction of text, so that an extension looks like another one.
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
  /// A safe name for a file with the body of the reply: see `HTTPResponse.suggestedFilename(for:)`.
  public var suggestedFilename: String { response.suggestedFilename(for: request) }
}
