/// A number of things of one name: TCP connections of a program, requests with a label.
package struct NamedCount: Hashable, Sendable {
  package let name: String
  package let count: Int

  package init(name: String, count: Int) {
    self.name = name
    self.count = count
  }
}
