import Netwatch

@testable import NetwatchHTTP

/// A path that a test opens and closes.
final class ModelPath: PathSource {
  private final class Observer: Sendable {
    let body: @Sendable () -> Void
    let end: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void) {
      self.body = body
      self.end = end
    }
    deinit { end() }
  }

  private struct State {
    var hasPath: Bool
    var bodies: [Int: @Sendable () -> Void] = [:]
    var count = 0
  }
  private let state: InlineLock<State>

  init(hasPath: Bool) { state = InlineLock(State(hasPath: hasPath)) }

  var observers: Int { state.withLock { $0.bodies.count } }

  var hasPath: Bool { state.withLock { $0.hasPath } }

  func set(_ hasPath: Bool) {
    let bodies = state.withLock { state in
      state.hasPath = hasPath
      return Array(state.bodies.values)
    }
    for body in bodies { body() }
  }

  func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
    let id = state.withLock { state in
      state.count += 1
      state.bodies[state.count] = body
      return state.count
    }
    return Observer(body) { [weak self] in _ = self?.state.withLock { $0.bodies.removeValue(forKey: id) } }
  }
}
