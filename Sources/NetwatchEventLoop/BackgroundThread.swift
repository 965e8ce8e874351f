import CLinux
import Glibc

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
