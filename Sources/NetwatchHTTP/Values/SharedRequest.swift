import HTTPTypes

/// A request, which is large: what holds it for long shares it, because a copy counts a dozen references.
final class SharedRequest: Sendable {
  let value: HTTPRequest

  init(_ value: consuming HTTPRequest) { self.value = value }
}
