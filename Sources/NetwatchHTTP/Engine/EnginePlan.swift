import Netwatch

/// What an engine is made of, on the way to its thread.
struct EnginePlan: Sendable {
  let configuration: HTTPSessionConfiguration
  let policy: SecurityPolicy
  let overrides: AddressOverrides
  let observer: (any RequestObserver)?
  let path: (any PathSource)?
  /// Of the session.
  let cookies: CurlShare
  /// Of the session.
  let pending: PendingCompletions
  /// With the engine's share of the connections.
  let settings: CurlSettings
  /// Where the engine counts down the tasks that have ended; nil if it is the session's only one.
  let load: EngineLoads.Place?
}
