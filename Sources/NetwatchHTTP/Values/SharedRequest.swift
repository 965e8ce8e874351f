import HTTPTypes

/// A shared request. A request is large, and a copy retains a dozen references, so long-lived owners share one.
final class SharedRequest: Sendable {
  let value: HTTPRequest

  init(_ value: consuming HTTPRequest) { self.value = value }
}
