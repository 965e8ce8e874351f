import Netwatch
import NetwatchEventLoop

/// A thread for engines. It lives as long as this object, and then until its last engine has ended.
final class EngineThread: Sendable {
  private let loop: LoopHandle
  private let engines: LoopConfined<Engines>

  /// - Parameter clock: The clock of deadlines, delays and progress; nil for the kernel's monotonic clock.
  /// - Throws: `other`, with the error that prevents the start of the thread.
  init(by clock: (any LoopClock)? = nil) throws(HTTPError) {
    do {
      (loop, engines) = try EventLoop.startInBackground(name: "netwatch-http", by: clock) { loop in
        (loop.handle, LoopConfined(Engines(on: loop), on: loop))
      }
    } catch {
      throw HTTPError(.other, "start thread", underlying: error)
    }
  }

  deinit { loop.submit { [engines] loop in engines.value(on: loop)?.letGo() } }

  /// Makes an engine on the thread, which may take a moment.
  ///
  /// The call does not wait for the thread, because it may be made on that thread: by a callback of another session.
  ///
  /// - Throws: `other` if the thread has failed.
  func add(_ parts: SessionEngine.Parts) throws(HTTPError) -> EngineHandle {
    let handle = EngineHandle(on: loop)
    // A thread that fails drops this with the job.
    let answer = OneShot(otherwise: false) { isMade in if !isMade { parts.pending.close() } }
    let isRunning = loop.submit { [engines] loop in
      if let engines = engines.value(on: loop) { answer.fulfill(engines.add(parts, handle, on: loop)) }
    }
    guard isRunning else {
      throw HTTPError(.other, "start session", message: "its thread has failed; make new HTTPThreads")
    }
    return handle
  }

  /// The engines on a thread. Belongs to its loop, and ends the loop when no engine is left and no further one can come.
  private final class Engines {
    private var engines: [SessionEngine] = []
    /// Whether another engine may be added.
    private var isHeld = true
    private let end: () -> Void

    init(on loop: EventLoop) {
      end = { [unowned loop] in
        loop.onTurnEnd = nil
        loop.onFailure = nil
        loop.stop()
      }
      loop.onTurnEnd = { [self] in for engine in engines { engine.turnEnded() } }
      loop.onFailure = { [self] error in
        for engine in engines { engine.loopFailed(error) }
        end()
      }
    }

    /// - Returns: false if there is no memory for an engine.
    func add(_ parts: SessionEngine.Parts, _ handle: EngineHandle, on loop: EventLoop) -> Bool {
      do throws(HTTPError) {
        let engine = try SessionEngine(parts, handle, on: loop) { [unowned self, unowned loop] engine in
          handle.set(nil, on: loop)
          remove(engine)
        }
        engines.append(engine)
        handle.set(engine, on: loop)
        return true
      } catch {
        return false
      }
    }

    private func remove(_ engine: SessionEngine) {
      engines.removeAll { $0 === engine }
      if engines.isEmpty, !isHeld { end() }
    }

    /// Ends the loop with its last engine, because no further engine comes.
    func letGo() {
      isHeld = false
      if engines.isEmpty { end() }
    }
  }
}
