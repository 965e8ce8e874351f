import CLinux
import Glibc

/// Runs an ``EventLoop`` on a thread of its own.
public enum BackgroundLoop {
  /// Starts a thread, makes a loop and calls `prepare` on it there, and waits for its result.
  ///
  /// What `prepare` makes may live in handlers of the loop, which runs until someone stops it.
  /// - Parameters:
  ///   - name: shown by `ps -L` and debuggers; 15 bytes at most.
  ///   - ended: called on the thread when the loop has ended, with the error that ended it.
  public static func start<Value: Sendable>(
    name: String,
    ended: @escaping @Sendable (SystemError?) -> Void = { _ in },
    prepare: @escaping @Sendable (EventLoop) throws -> Value
  ) throws -> Value {
    let startUp = Promise<Value>()
    try Thread.detach(name: name) {
      let loop: EventLoop
      do {
        loop = try EventLoop()
        startUp.keep(.success(try prepare(loop)))
      } catch {
        startUp.keep(.failure(error))
        return
      }
      // Whoever still knows the way in is told that nobody is here any more.
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

private enum Thread {
  final class Body {
    let name: String
    let run: () -> Void
    init(name: String, run: @escaping () -> Void) {
      self.name = name
      self.run = run
    }
  }

  static func detach(name: String, _ run: @escaping @Sendable () -> Void) throws(SystemError) {
    let body = unsafe Unmanaged.passRetained(Body(name: name, run: run))
    // The app's signals are the app's: this thread takes none.
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
