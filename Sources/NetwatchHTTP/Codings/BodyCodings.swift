/// The codings of a response's body, each list in the order in which the server has applied them.
struct BodyCodings {
  /// The content codings. Nil if one of them is unknown here; then they are left on the body.
  private(set) var content: [ContentCoding]? = []
  /// The transfer codings without `chunked`. Nil if one of them is unknown here; then the body cannot be read.
  private(set) var transfer: [ContentCoding]? = []

  /// Whether the body has no coding to remove.
  var isEmpty: Bool { content?.isEmpty == true && transfer?.isEmpty == true }

  mutating func add(contentEncoding value: String) {
    for name in Self.names(value) where name != "identity" && name != "none" { Self.add(name, to: &content) }
  }

  mutating func add(transferEncoding value: String) {
    for name in Self.names(value) where name != "identity" && name != "chunked" { Self.add(name, to: &transfer) }
  }

  private static func names(_ value: String) -> [String] {
    value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }

  private static func add(_ name: String, to codings: inout [ContentCoding]?) {
    if let coding = ContentCoding(name) {
      codings?.append(coding)
    } else {
      codings = nil
    }
  }
}
