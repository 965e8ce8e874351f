/// The two delays of an activity indicator. The defaults are those of AFNetworkActivityIndicatorManager.
public struct ActivityConfiguration: Hashable, Sendable {
  /// The time from the begin of a request until the indicator is shown, if a request runs then. Default: 1.0 s. With zero, `begin`
  /// still returns first, and the indicator is shown as soon as a Swift task can run.
  public var activationDelay: Duration = .seconds(1)
  /// The time that the indicator stays visible after the last request. Default: 0.17 s.
  public var completionDelay: Duration = .milliseconds(170)

  /// Creates a configuration with the default delays.
  public init() {}
}
