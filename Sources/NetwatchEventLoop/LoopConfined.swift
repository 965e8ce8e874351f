/// A value that belongs to a loop's thread, wrapped for other threads: they can pass it on, and only a job on that loop can
/// read the value.
///
/// `@unchecked`: `value` is returned only to a caller that has an ``EventLoop``, which never leaves its thread; another loop
/// gets nil.
public final class LoopConfined<Value>: @unchecked Sendable {
  private let value: Value
  private let loop: ObjectIdentifier

  /// Wraps a value. Call this on the loop's thread.
  public init(_ value: Value, on loop: EventLoop) {
    self.value = value
    self.loop = ObjectIdentifier(loop)
  }

  /// Returns the value; nil if `loop` is another loop.
  public func value(on loop: EventLoop) -> Value? {
    ObjectIdentifier(loop) == self.loop ? value : nil
  }
}
