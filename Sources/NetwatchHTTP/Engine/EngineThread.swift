import NetwatchEventLoop

/// A thread for engines. It lives as long as this object, and then until its last engine has ended.
final class EngineThread: Sendable {
  private let handle: LoopHandle
  private let engines: LoopConfined<LoopEngines>

  /// - Throws: `other`, with the error that prevents the start of the thread.
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

  /// Makes an engine on the thread. Commands that reach the inbox before wait for the engine.
  ///
  /// The call does not wait for the thread, because it may be made on that thread: by a callback of another session.
  ///
  /// - Throws: `other` if the thread has failed.
  func add(_ plan: EnginePlan, _ inbox: Inbox<EngineCommand>) throws(HTTPError) {
    // A thread that fails drops this with the job.
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
