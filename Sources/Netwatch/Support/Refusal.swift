/// Why what somebody wrote is refused: one sentence that says what to do.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
