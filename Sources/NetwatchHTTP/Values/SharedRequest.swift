import HTTPTypes

/// A request that several owners share. Copying an `HTTPRequest` retains a dozen references, so its long-lived owners share one.
final class SharedRequest: Sendable {
  let value: HTTPRequest

  init(_ value: consuming HTTPRequest) { self.value = value }
}
