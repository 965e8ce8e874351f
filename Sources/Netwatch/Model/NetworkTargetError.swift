/// Text that names no target.
public struct NetworkTargetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence: what is wrong, and what to write instead.
  public let description: String

  package init(_ description: String) { self.description = description }
}
