/// An error that is one sentence for the person who reads it: what is wrong, and what to do.
public struct PlainError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  package init(_ description: String) { self.description = description }
}
