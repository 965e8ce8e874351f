/// An error that is one sentence for a person: what is wrong, and what to do.
package struct PlainError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The sentence.
  package let description: String

  package init(_ description: String) { self.description = description }
}
