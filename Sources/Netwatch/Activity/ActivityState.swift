/// The state of an activity indicator: AFNetworking's four states.
public enum ActivityState: String, Hashable, Sendable, CaseIterable {
  /// No request runs, or the indicator is disabled. The indicator is hidden.
  case inactive
  /// A request runs or ran a moment ago. The indicator is still hidden. When the activation delay is over, it is shown if a
  /// request runs then.
  case delayingStart = "delaying-start"
  /// A request runs, and the indicator is visible.
  case active
  /// No request runs. The indicator stays visible for the completion delay, to bridge gaps between requests.
  case delayingEnd = "delaying-end"

  /// Whether the indicator is visible: the state is ``active`` or ``delayingEnd``.
  public var isVisible: Bool {
    switch self {
    case .inactive, .delayingStart: false
    case .active, .delayingEnd: true
    }
  }
}
