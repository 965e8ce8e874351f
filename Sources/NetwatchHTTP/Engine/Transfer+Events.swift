import FoundationEssentials

/// The events of a task for the observers of its session. They are only made if there is an observer: see
/// ``EventHub/isObserved``.
extension Transfer {
  func tell(_ kind: HTTPEvent.Kind) {
    engine.events.tell(HTTPEvent(task: info, request: plan.request, date: Date(), kind: kind))
  }

  /// Returns what sends an event after the response was serialized elsewhere.
  func observeSerialization() -> @Sendable (Result<any Sendable, HTTPError>, Duration) -> Void {
    { [handle = engine.handle, info, plan] result, duration in
      let event = HTTPEvent(task: info, request: plan.request, date: Date(), kind: .serialized(result, after: duration))
      handle.run { $0.events.tell(event) }
    }
  }

  /// Called before the machine gets the event.
  func tell(of event: TransferMachine.Event) {
    switch (event, machine.phase) {
    case (.suspended, .running(let attempt)) where !attempt.isSuspended: tell(.suspended)
    case (.suspended, .waiting), (.suspended, .delayed): tell(.suspended)
    case (.resumed, .running(let attempt)) where attempt.isSuspended: tell(.resumed)
    case (.resumed, .suspended) where attempts > 0: tell(.resumed)
    default: break
    }
  }
}
