/// Counters of what a monitor has processed since it started.
public struct MonitorStatistics: Hashable, Sendable {
  /// The number of processed messages about links, addresses, routes and rules.
  public internal(set) var facts = 0
  /// The number of published paths, including the first one, except those with only a new list of links, a new signal or a new
  /// access point.
  public internal(set) var transitions = 0
  /// The number of times that the kernel dropped messages because they came faster than they were read. Each led to a new
  /// listing.
  public internal(set) var overruns = 0
  /// The number of complete listings of links and addresses, including the first one.
  public internal(set) var listings = 0
  /// The number of listings that were discarded because the kernel's tables changed meanwhile.
  public internal(set) var interruptedListings = 0
  /// The number of wake-ups from suspend.
  public internal(set) var resumes = 0

  package init() {}
}

extension MonitorStatistics: CustomStringConvertible {
  /// All counters, such as `12 facts, 3 transitions, 0 overruns, 1 listings, 0 interrupted, 0 resumes`.
  public var description: String {
    """
    \(facts) facts, \(transitions) transitions, \(overruns) overruns, \(listings) listings, \
    \(interruptedListings) interrupted, \(resumes) resumes
    """
  }
}
