/// A value that several owners share. Copying a large value, such as an `HTTPRequest`, retains a dozen references, so its
/// long-lived owners share one.
final class Shared<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: consuming Value) { self.value = value }
}
