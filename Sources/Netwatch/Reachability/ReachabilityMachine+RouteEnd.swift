extension ReachabilityMachine {
  /// The end of an IPv6 route in use, as far as the kernel has told it.
  enum RouteEnd: Hashable {
    /// Not told, or there is none.
    case unknown
    case told(Duration)
    /// It is less than one of the kernel's time steps away.
    case looming(Duration)

    /// Creates the end of a route for which the kernel has told a time in hundredths of a second; 0 for none.
    ///
    /// - Parameter before: The end as it was known before; nil if it was not.
    init(after ticks: UInt32, _ before: RouteEnd?, at now: Duration) {
      self =
        switch (ticks, before) {
        case (1..., _): .told(now + .milliseconds(10) * Int(ticks) + ReachabilityMachine.expirySlack)
        // An end that is less than a time step away is told like none.
        case (_, .told): .looming(now + ReachabilityMachine.expirySlack)
        case (_, .looming(let time)): .looming(time)
        case (_, .unknown), (_, nil): .unknown
        }
    }

    var time: Duration? {
      switch self {
      case .unknown: nil
      case .told(let time), .looming(let time): time
      }
    }
  }
}
