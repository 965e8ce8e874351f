import FoundationEssentials
import Netwatch

extension URL {
  /// Creates a URL from a reference as people and servers write it: what a URL may not have is percent-encoded, and what is encoded
  /// already stays as it is (RFC 3986, section 2.4). Foundation would encode each `%` again as soon as it finds anything to encode.
  ///
  /// - Parameters:
  ///   - reference: The bytes of the reference. Other bytes than ASCII are encoded one by one; usually they are UTF-8.
  ///   - base: The URL that a relative reference belongs to. Default: nil.
  /// - Returns: Nil if this is not a URL.
  package init?(reference: some Sequence<UInt8>, relativeTo base: URL? = nil) {
    let bytes = Array(reference)
    let start = Self.pathStart(of: bytes)
    let rest = Array(bytes[start...]).percentEncoded { $1.isAlphanumeric || Self.marks.contains($1) }
    self.init(string: String(decoding: bytes[..<start] + rest, as: UTF8.self), relativeTo: base)
  }

  /// The marks that a path, a query and a fragment may have, apart from `%` and `#`.
  private static let marks = Set("-._~!$&'()*+,;=:@/?".utf8)

  /// Returns where the path of a reference begins, behind its scheme and its authority, if it has any.
  private static func pathStart(of bytes: [UInt8]) -> Int {
    var start = 0
    if let end = bytes.firstIndex(where: { ":/?#".utf8.contains($0) }), bytes[end] == UInt8(ascii: ":") {
      start = end + 1
    }
    guard bytes[start...].starts(with: "//".utf8) else { return start }
    return bytes[(start + 2)...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
  }
}
