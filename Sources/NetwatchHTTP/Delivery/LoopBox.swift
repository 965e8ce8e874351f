import NetwatchEventLoop

/// The way from any thread to an object that belongs to a loop, before the object exists and after it has ended too. It keeps the
/// object alive, but not the loop.
///
/// `@unchecked`: only jobs on the loop read and write the object.
final class LoopBox<Object>: @unchecked Sendable {
  private let loop: LoopHandle
  private var object: Object?

  /// Creates an empty box for an object of a loop.
  init(on loop: LoopHandle) { self.loop = loop }

  /// Puts the object into the box, or takes it out again.
  ///
  /// - Parameter loop: The loop, which proves that the call is made on the loop's thread. Another loop changes nothing.
  func set(_ object: Object?, on loop: EventLoop) { if loop.handle === self.loop { self.object = object } }

  /// Runs `body` on the loop's thread, after what was given to the box before. Can also be called there. Drops `body` if there is no
  /// object when its turn comes.
  func run(_ body: @escaping @Sendable (Object) -> Void) {
    loop.submit { [self] _ in if let object { body(object) } }
  }
}
