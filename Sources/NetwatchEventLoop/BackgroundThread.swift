import CLinux
import Glibc

/// Runs something on a thread of its own, which takes none of the app's signals.
package enum BackgroundThread {
  private final class Body {
    let name: String
    let run: () -> Void
    init(name: String, run: @escaping () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// - Parameters:
  ///   - name: shown by `ps -L` and debuggers; 15 bytes at most.
  ///   - run: called once, on the thread, which ends with it.
  /// - Throws: what the system says if there is no room for another thread. `run` is not called then.
  package static func start(name: String, _ run: @escaping @Sendable () -> Void) throws(SystemError) {
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
