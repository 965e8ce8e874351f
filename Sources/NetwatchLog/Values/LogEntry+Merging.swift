extension [LogEntry] {
  /// Returns the last `limit` entries. The first of them has the number of changes that are merged into it.
  package func merged(to limit: Int) -> [LogEntry] {
    guard count > limit, limit > 0 else { return self }
    let (old, kept) = (prefix(count - limit + 1), suffix(limit - 1))
    var changes: Int64 = 0
    var newest: (moment: LogMoment, state: LogState)?
    for entry in old {
      guard case .change(let state, let count) = entry.content else { continue }
      changes = changes.addingSaturated(count)
      newest = (entry.moment, state)
    }
    guard let newest else { return Array(kept) }
    return [LogEntry(newest.moment, .change(newest.state, count: changes))] + kept
  }
}
