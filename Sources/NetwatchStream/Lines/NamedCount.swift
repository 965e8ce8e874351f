/// A name and a number: of a program's TCP connections, or of requests with a label.
package struct NamedCount: Hashable, Sendable {
  /// The name of the program, or the label.
  package let name: String
  /// The number of connections or requests.
  package let count: Int

  /// Creates a count.
  package init(name: String, count: Int) {
    self.name = name
    self.count = count
  }
}
