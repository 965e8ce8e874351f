import NetwatchEventLoop

/// A thread for engines. It lives while somebody holds this, and then until its last engine has left.
final class EngineThread: Sendable {
  private let handle: LoopHandle
  private let engines: LoopConfined<LoopEngines>

  /// - Throws: What prevents a thread.
  init() throws(HTTPError) {
    do {
      (handle, engines) = try EventLoop.startInBackground(name: "netwatch-http") { loop in
        (loop.handle, LoopConfined(LoopEngines(on: loop), on: loop))
      }
    } catch {
      throw HTTPError(.other, "start thread", underlying: error)
    }
  }

  deinit { handle.submit { [engines] loop in engines.value(on: loop)?.letGo() } }

  /// Has the thread make an engine. What the inbox is sent meanwhile waits for it.
  ///
  /// Nobody waits for the thread, on which this may be called: by a callback of another session.
  ///
  /// - Throws: If the thread has failed.
  func add(_ plan: EnginePlan, _ inbox: Inbox<EngineCommand>) throws(HTTPError) {
    // Dropped with the job by a thread that fails.
    let answer = OneShot(otherwise: false) { isMade in
      guard !isMade else { return }
      inbox.close()
      plan.pending.close()
    }
    let isRunning = handle.submit { [engines] loop in
      if let engines = engines.value(on: loop) { answer.fulfill(engines.add(plan, inbox)) }
    }
    guard isRunning else {
      throw HTTPError(.other, "start session", message: "its thread has failed; make new HTTPThreads")
    }
  }
}
