/// The spans and outages that follow from the entries of one writer, which are added in order. Pure: it reads no clock.
struct RunHistory: Sendable {
  private(set) var spans: [LogSpan] = []
  private(set) var outages: [Outage] = []
  /// The current state and the time of its beginning; nil before the first change.
  private var current: (state: LogState, since: LogMoment)?
  private var last: LogMoment?
  /// The outage that has not ended, and the time since which it is known to last; that time is nil while the status is unknown.
  private var outage: (value: Outage, since: LogMoment?)?

  mutating func add(_ entry: LogEntry) {
    switch entry.content {
    case .change(let state, let count): change(to: state, at: entry.moment, isMerged: count > 1)
    case .suspend(let length):
      // The suspend began this long before the resume, by the wall clock at the resume.
      closeSpan(at: entry.moment)
      spans.append(LogSpan(began: entry.moment.wall.subtractingSaturated(length), length: length, content: .suspended))
      if let state = current?.state { current = (state, entry.moment) }
    }
    last = entry.moment
  }

  /// Ends the history at `moment`, until which the writer has watched.
  mutating func end(at moment: LogMoment, isLive: Bool) {
    closeSpan(at: moment)
    closeOutage(at: moment, isLive ? .ongoing : .unseen)
    current = nil
  }

  private mutating func change(to state: LogState, at moment: LogMoment, isMerged: Bool) {
    if isMerged {
      // The path may have come back and been lost again in between.
      closeOutage(at: last ?? moment, .unseen)
    } else {
      closeSpan(at: moment)
    }
    let before = isMerged ? nil : current?.state
    current = (state, moment)
    switch state.status {
    case .notReachable:
      if outage == nil {
        let wasReachable = before?.status.isReachable ?? false
        outage = (
          Outage(
            began: moment.wall, length: 0, reason: state.reason, lost: wasReachable ? before : nil,
            isBeginningSeen: wasReachable, ending: .ongoing), nil
        )
      } else {
        countOutage(until: moment)
      }
      outage?.since = moment
    case .wifi, .wwan: closeOutage(at: moment, .seen)
    // An unknown status neither begins nor ends an outage, and its time does not count.
    case .unknown: countOutage(until: moment)
    }
  }

  private mutating func countOutage(until moment: LogMoment) {
    guard let (value, since) = outage, let since else { return }
    // A file may have any times, so that the sum may not fit.
    outage?.value.length = value.length.addingSaturated(moment.microseconds(since: since))
    outage?.since = nil
  }

  private mutating func closeSpan(at moment: LogMoment) {
    guard let current else { return }
    let length = moment.microseconds(since: current.since)
    if length > 0 { spans.append(LogSpan(began: current.since.wall, length: length, content: .state(current.state))) }
  }

  private mutating func closeOutage(at moment: LogMoment, _ ending: Outage.Ending) {
    countOutage(until: moment)
    guard var closed = outage?.value else { return }
    outage = nil
    closed.ending = ending
    outages.append(closed)
  }
}
