import Netwatch

/// The parts that an engine is made from, on the way to its thread.
struct EnginePlan: Sendable {
  let configuration: HTTPSessionConfiguration
  let policy: SecurityPolicy
  let overrides: AddressOverrides
  let observer: Shared<any RequestObserver>?
  let path: (any PathSource)?
  /// Shared by all engines of the session.
  let cookies: CurlShare
  /// Shared by all engines of the session.
  let pending: PendingCompletions
  /// The settings of libcurl, with the engine's share of the connections.
  let settings: CurlSettings
  /// The counter of the engine's tasks; nil if it is the session's only engine.
  let load: EngineLoads.Place?
}
