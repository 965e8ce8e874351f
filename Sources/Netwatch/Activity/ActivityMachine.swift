/// Decides when the indicator is shown. Pure: whether something runs goes in, timers and visibility come out.
///
/// ```
///               busy                   timer, busy                  idle
///   inactive ---------> delayingStart -------------> active <----------------> delayingEnd
///      ^ ^                    | timer, idle      shown           busy               | timer
///      | +--------------------+                                                     | hidden
///      +----------------------------------------------------------------------------+
/// ```
///
/// When nothing runs any more, `delayingStart` does not end: a series of short requests is shown if one of them runs when the
/// delay is over. One short request is never shown.
package struct ActivityMachine: Sendable {
  package enum Event: Hashable, Sendable, CaseIterable {
    /// The number of requests has become more than zero.
    case busy
    /// The number of requests has become zero.
    case idle
    case timerFired
    case disabled
    case enabled
  }

  /// The actions to take; at most one of each.
  package struct Effects: Hashable, Sendable {
    /// Whether ``ActivityMachine/deadline`` has changed.
    package var setsTimer = false
    /// The visibility to publish. Nil if it has not changed.
    package var visibility: Bool?
  }

  package private(set) var state = ActivityState.inactive
  /// The time at which `timerFired` is due. A timer that fires earlier or is no longer needed does nothing.
  package private(set) var deadline: Duration?
  package private(set) var isEnabled = true
  /// The two delays. A change applies to timers that are started afterwards.
  package var configuration: ActivityConfiguration
  private var isBusy = false

  package init(_ configuration: ActivityConfiguration = .init()) { self.configuration = configuration }

  /// Handles an event.
  ///
  /// - Parameter now: The time. Only read if a timer starts or fires. If events coincide, others come before `timerFired`.
  package mutating func handle(_ event: Event, at now: @autoclosure () -> Duration) -> Effects {
    let (oldState, oldDeadline) = (state, deadline)
    remember(event)
    (state, deadline) = transition(on: event, at: now)
    return Effects(
      setsTimer: deadline != oldDeadline,
      visibility: state.isVisible == oldState.isVisible ? nil : state.isVisible)
  }

  /// Takes an event that needs no clock or timer and changes nothing visible. Returns false if the event has to be handled.
  package mutating func absorbs(_ event: Event) -> Bool {
    guard state == .delayingStart, event == .busy || event == .idle else { return false }
    isBusy = event == .busy
    return true
  }

  private mutating func remember(_ event: Event) {
    switch event {
    case .busy: isBusy = true
    case .idle: isBusy = false
    case .disabled: isEnabled = false
    case .enabled: isEnabled = true
    case .timerFired: break
    }
  }

  private func transition(on event: Event, at now: () -> Duration) -> (ActivityState, Duration?) {
    switch (state, event) {
    case (_, .disabled):
      return (.inactive, nil)

    // Requests are remembered while the indicator is disabled, and count when it is enabled.
    case (.inactive, .busy), (.inactive, .enabled):
      guard isBusy, isEnabled else { return (.inactive, nil) }
      return (.delayingStart, now() + configuration.activationDelay.asDelay)
    case (.delayingStart, .timerFired):
      guard isDue(now()) else { return (state, deadline) }
      return (isBusy ? .active : .inactive, nil)

    case (.active, .idle):
      return (.delayingEnd, now() + configuration.completionDelay.asDelay)
    case (.delayingEnd, .busy):
      return (.active, nil)
    case (.delayingEnd, .timerFired):
      guard isDue(now()) else { return (state, deadline) }
      return (.inactive, nil)

    case (.inactive, .idle), (.inactive, .timerFired), (.delayingStart, .busy), (.delayingStart, .idle),
      (.delayingStart, .enabled), (.active, .busy), (.active, .timerFired), (.active, .enabled), (.delayingEnd, .idle),
      (.delayingEnd, .enabled):
      return (state, deadline)
    }
  }

  private func isDue(_ now: Duration) -> Bool { deadline.map { $0 <= now } ?? false }
}
