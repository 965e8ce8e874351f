/// The delays of an activity indicator. The defaults are those of AFNetworkActivityIndicatorManager.
public struct ActivityConfiguration: Hashable, Sendable {
  /// How long before the indicator is shown, if something runs then. Default 1.0 s. Zero shows at the next turn.
  public var activationDelay: Duration = .seconds(1)
  /// How long it stays after the last request. Default 0.17 s.
  public var completionDelay: Duration = .milliseconds(170)

  public init() {}
}
