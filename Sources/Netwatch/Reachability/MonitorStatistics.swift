/// What a monitor has been through since it started.
public struct MonitorStatistics: Hashable, Sendable {
  /// Messages about links, addresses, routes and rules that were looked at.
  public internal(set) var facts = 0
  /// Paths published, the first one included.
  public internal(set) var transitions = 0
  /// Times that the kernel dropped messages because they came faster than they were read. Each led to a new listing.
  public internal(set) var overruns = 0
  /// Whole listings of links and addresses, the first one included.
  public internal(set) var listings = 0
  /// Listings that were thrown away because something changed under them.
  public internal(set) var interruptedListings = 0
  /// Wake-ups from suspend.
  public internal(set) var resumes = 0

  package init() {}
}
