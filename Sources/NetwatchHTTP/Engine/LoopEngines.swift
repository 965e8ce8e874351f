import NetwatchEventLoop

/// The engines on a loop. Ends the loop when no engine is left and no further one can come.
final class LoopEngines {
  private let loop: EventLoop
  private var engines: [SessionEngine] = []
  /// Whether another engine may be added.
  private var isHeld = true

  init(on loop: EventLoop) {
    self.loop = loop
    loop.onTurnEnd = { [self] in for engine in engines { engine.turnEnded() } }
    loop.onFailure = { [self] error in
      for engine in engines { engine.loopFailed(error) }
      end()
    }
  }

  /// - Returns: false if there is no memory for an engine.
  func add(_ plan: EnginePlan, _ inbox: Inbox<EngineCommand>) -> Bool {
    do throws(HTTPError) {
      engines.append(try SessionEngine(plan, inbox, on: loop) { [unowned self] in remove($0) })
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

  private func end() {
    loop.onTurnEnd = nil
    loop.onFailure = nil
    loop.stop()
  }
}
