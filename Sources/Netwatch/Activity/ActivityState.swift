/// What an activity indicator does. AFNetworking's four states.
public enum ActivityState: String, Hashable, Sendable, CaseIterable {
  case inactive
  /// Something runs, or ran a moment ago; whether it is worth showing is looked at when the activation delay is over.
  case delayingStart = "delaying-start"
  case active
  /// Nothing runs; the indicator lingers for the completion delay, to bridge gaps between requests.
  case delayingEnd = "delaying-end"

  public var isVisible: Bool {
    switch self {
    case .inactive, .delayingStart: false
    case .active, .delayingEnd: true
    }
  }
}

/// The delays of an activity indicator. The defaults are those of AFNetworkActivityIndicatorManager.
public struct ActivityConfiguration: Hashable, Sendable {
  /// How long before the indicator is shown, if something runs then. Default 1.0 s. Zero shows at the next turn.
  public var activationDelay: Duration = .seconds(1)
  /// How long it stays after the last request. Default 0.17 s.
  public var completionDelay: Duration = .milliseconds(170)

  public init() {}
}
