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
