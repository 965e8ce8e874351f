import Netwatch

/// A path to the network that a test of an app opens and closes.
///
/// ```swift
/// let path = ScriptedPath()
/// let session = try HTTPSessionManager(configuration: configuration, path: path)
/// path.set(false)
/// ```
public final class ScriptedPath: PathSource {
  private struct State: Sendable {
    var hasPath: Bool
    var medium: Medium?
    var isExpensive: Bool?
    var bodies: [Int: @Sendable () -> Void] = [:]
    var count = 0
  }

  /// Ends the calls when it is released.
  private final class Observation: Sendable {
    let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  private let state: Lock<State>

  /// Creates a path.
  ///
  /// - Parameter hasPath: Whether there is a path at first. Default: true.
  public init(_ hasPath: Bool = true) { state = Lock(State(hasPath: hasPath)) }

  /// Whether there is a path, as set last.
  public var hasPath: Bool { state.withLock { $0.hasPath } }

  /// The medium, as set last. Nil if it is not known.
  public var medium: Medium? { state.withLock { $0.medium } }

  /// Whether the path may cost money, as set last. Nil if it is not known.
  public var isExpensive: Bool? { state.withLock { $0.isExpensive } }

  /// Opens or closes the path, and calls its observers before it returns.
  ///
  /// - Parameters:
  ///   - hasPath: Whether there is a path.
  ///   - medium: The medium of the path. Default: nil, not known.
  ///   - isExpensive: Whether using the path may cost money. Default: nil, not known.
  public func set(_ hasPath: Bool, medium: Medium? = nil, isExpensive: Bool? = nil) {
    let bodies = state.withLock { state in
      state.hasPath = hasPath
      state.medium = medium
      state.isExpensive = isExpensive
      return Array(state.bodies.values)
    }
    for body in bodies { body() }
  }

  /// Calls `body` at each call of ``set(_:medium:isExpensive:)``, on the thread of that call.
  ///
  /// - Parameter body: The closure to call.
  /// - Returns: An observation. The calls end when it is released.
  public func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
    let id = state.withLock { state in
      state.count += 1
      state.bodies[state.count] = body
      return state.count
    }
    return Observation { [weak self] in _ = self?.state.withLock { $0.bodies.removeValue(forKey: id) } }
  }

  /// The number of observers, for tests that look for leaks.
  package var observers: Int { state.withLock { $0.bodies.count } }
}
