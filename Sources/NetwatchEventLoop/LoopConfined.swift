/// A value that belongs to a loop's thread, in the hands of other threads: they can pass it on, and only a job on that loop
/// can open it.
///
/// `@unchecked`: `value` is given to whoever has an ``EventLoop``, which never leaves its thread; one of another loop is
/// refused.
public final class LoopConfined<Value>: @unchecked Sendable {
  private let value: Value
  private let loop: ObjectIdentifier

  /// On the loop's own thread.
  public init(_ value: Value, on loop: EventLoop) {
    self.value = value
    self.loop = ObjectIdentifier(loop)
  }

  /// Nil on another loop.
  public func value(on loop: EventLoop) -> Value? {
    ObjectIdentifier(loop) == self.loop ? value : nil
  }
}
