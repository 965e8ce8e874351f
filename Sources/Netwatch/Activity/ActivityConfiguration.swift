/// The two delays of an activity indicator. The defaults are those of AFNetworkActivityIndicatorManager.
public struct ActivityConfiguration: Hashable, Sendable {
  /// The time before the indicator is shown, if a request runs then. Default: 1.0 s. Zero shows the indicator at the timer's
  /// next turn.
  public var activationDelay: Duration = .seconds(1)
  /// The time that the indicator stays visible after the last request. Default: 0.17 s.
  public var completionDelay: Duration = .milliseconds(170)

  /// Creates a configuration with the default delays.
  public init() {}
}
