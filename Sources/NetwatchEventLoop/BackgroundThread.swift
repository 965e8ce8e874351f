import CLinux
import NetwatchLibC

/// Runs a closure on its own thread, which receives none of the app's signals.
package enum BackgroundThread {
  private final class Body {
    let name: String
    let run: () -> Void
    init(name: String, run: @escaping () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// Starts a thread.
  ///
  /// - Parameters:
  ///   - name: The name that `ps -L` and debuggers show; at most 15 bytes.
  ///   - run: The closure that is called once, on the thread. The thread ends when it returns.
  /// - Throws: A `SystemError` if the system has no room for another thread. `run` is not called then.
  package static func start(name: String, _ run: @escaping @Sendable () -> Void) throws(SystemError) {
    let body = unsafe Unmanaged.passRetained(Body(name: name, run: run))
    // All signals are blocked, because they belong to the app.
    var all = sigset_t()
    var old = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }

    var thread = pthread_t()
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        unsafe pthread_setname_np(pthread_self(), body.name)
        body.run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      unsafe body.release()
      throw SystemError(operation: "pthread_create", code: code)
    }
    pthread_detach(thread)
  }
}

extension EventLoop {
  /// Starts a thread that creates a loop, calls `prepare` with it, and then runs the loop. Waits for the result of `prepare`.
  ///
  /// Objects that `prepare` creates may live in handlers of the loop, which runs until ``stop()`` is called.
  ///
  /// - Parameters:
  ///   - name: The name that `ps -L` and debuggers show; at most 15 bytes.
  ///   - ended: The closure that is called on the thread when the loop has ended, with the error that ended it. Default: does
  ///     nothing.
  ///   - prepare: The closure that is called on the thread before the loop runs.
  /// - Returns: The result of `prepare`.
  /// - Throws: The error of `prepare`, or a ``SystemError`` if the system has no thread or descriptor left.
  public static func startInBackground<Value: Sendable>(
    name: String,
    ended: @escaping @Sendable (SystemError?) -> Void = { _ in },
    prepare: @escaping @Sendable (EventLoop) throws -> Value
  ) throws -> Value {
    try startInBackground(name: name, by: nil, ended: ended, prepare: prepare)
  }

  /// Starts a thread with a loop, as ``startInBackground(name:ended:prepare:)`` does.
  ///
  /// - Parameter clock: The clock of the timers; nil for the kernel's monotonic clock.
  package static func startInBackground<Value: Sendable>(
    name: String, by clock: (any LoopClock)?,
    ended: @escaping @Sendable (SystemError?) -> Void = { _ in },
    prepare: @escaping @Sendable (EventLoop) throws -> Value
  ) throws -> Value {
    let startUp = BlockingResult<Value>()
    try BackgroundThread.start(name: name) {
      let loop: EventLoop
      do {
        loop = try EventLoop(by: clock)
        startUp.fulfill(.success(try prepare(loop)))
      } catch {
        startUp.fulfill(.failure(error))
        return
      }
      // From now on, submitting a job to the handle fails.
      defer { loop.handle.close() }
      do throws(SystemError) {
        try loop.run()
        ended(nil)
      } catch {
        ended(error)
      }
    }
    return try startUp.wait()
  }
}
