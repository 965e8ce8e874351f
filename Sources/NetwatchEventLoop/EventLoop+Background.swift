extension EventLoop {
  /// Starts a thread that makes a loop, calls `prepare` with it and then runs it; waits for what `prepare` returns.
  ///
  /// What `prepare` makes may live in handlers of the loop, which runs until someone stops it.
  /// - Parameters:
  ///   - name: shown by `ps -L` and debuggers; 15 bytes at most.
  ///   - ended: called on the thread when the loop has ended, with the error that ended it.
  public static func startInBackground<Value: Sendable>(
    name: String,
    ended: @escaping @Sendable (SystemError?) -> Void = { _ in },
    prepare: @escaping @Sendable (EventLoop) throws -> Value
  ) throws -> Value {
    let startUp = Promise<Value>()
    try BackgroundThread.start(name: name) {
      let loop: EventLoop
      do {
        loop = try EventLoop()
        startUp.fulfill(.success(try prepare(loop)))
      } catch {
        startUp.fulfill(.failure(error))
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
