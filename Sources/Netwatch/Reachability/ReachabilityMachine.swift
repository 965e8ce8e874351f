/// Decides what to ask the kernel and what to publish. Pure: facts and answers in, effects out.
///
/// ```
///                  start, overrun, resume
///                          |
///                          v        interrupted: again, later after a pause
///   settled ----drained--> listing <---+
///    ^   |                   | whole --+--> asking
///    |   +--drained, relevant-------------> asking ---+ the answer may be older than the facts: settle, ask once more
///    +------------------ publish ------------ | <-----+
/// ```
package struct ReachabilityMachine: Sendable {
  package enum Event: Hashable, Sendable {
    case started
    case fact(NetworkEvent)
    /// Nothing more can be read for now: time to look at what has changed.
    case drained
    /// The kernel has dropped messages.
    case overrun
    /// The machine was suspended.
    case resumed
    case listingBegan
    /// Not whole: the kernel's tables changed under the listing.
    case listingEnded(isWhole: Bool)
    /// The kernel refused to list or to answer.
    case failed
    case answered(RouteRequest, RouteAnswer)
    case timerFired(Timer)
  }

  package enum Effect: Hashable, Sendable {
    /// List links and addresses: `listingBegan`, facts, `listingEnded`.
    case list
    /// Wait until the kernel has done what it has announced.
    case settle
    /// Read one link again.
    case readLink(Int32)
    case lookUp(RouteRequest)
    case arm(Timer, at: Duration)
    case disarm(Timer)
    case publish(NetworkPath, Change)
  }

  package enum Timer: Hashable, Sendable, CaseIterable { case hold, retry }

  /// What a published path is about.
  package enum Change: Hashable, Sendable { case initial, reachability, interfaces }

  package typealias Effects = EffectList<Effect>

  private enum State: Hashable {
    /// Links and addresses are not known, or not any more.
    case listing(attempts: Int)
    case settled
    case asking(Inquiry)
  }

  /// Lookups under way.
  private struct Inquiry: Hashable {
    var families: AddressFamilies
    var outstanding: Int
    /// Families whose other ways out have been asked for too.
    var widened: AddressFamilies = []
    /// The kernel has announced something before doing it.
    var isEarly = false
    /// Asked again behind `settle`: this is the truth.
    var isConfirmed = false
  }

  /// Interrupted or failed listings that follow each other at once, before a pause.
  private static let eagerAttempts = 8
  private static let retryPause = Duration.milliseconds(100)

  package private(set) var statistics = MonitorStatistics()
  package private(set) var snapshot = NetworkSnapshot()
  private let configuration: MonitorConfiguration
  private var state = State.listing(attempts: 0)
  /// What has changed since the last look.
  private var pending = SnapshotDelta()
  private var needsListing = true
  /// Why links and addresses were listed again; nil in ordinary times.
  private var listingCause: ReachabilityReason?
  private var answers = FamilyPair<RouteAnswer>(.noRoute)
  /// Ways out over single links, while an inquiry collects them.
  private var candidates = FamilyPair<[RouteHop]>([])
  private var concluded: NetworkPath.Verdict?
  private var published: NetworkPath.Verdict?
  private var isHolding = false

  package init(configuration: MonitorConfiguration = .init()) {
    self.configuration = configuration
  }

  package mutating func handle(_ event: Event, at now: Duration) -> Effects {
    var effects = Effects()
    state = transition(on: event, at: now, &effects)
    return effects
  }

  private mutating func transition(on event: Event, at now: Duration, _ effects: inout Effects) -> State {
    switch (state, event) {
    case (_, .started):
      return list(&effects)

    case (_, .fact(let fact)):
      statistics.facts += 1
      pending.merge(snapshot.apply(fact))
      return state

    case (_, .overrun):
      statistics.overruns += 1
      needsListing = true
      listingCause = .resynced
      return state

    case (_, .resumed):
      statistics.resumes += 1
      needsListing = true
      listingCause = .resumed
      return state

    case (.settled, .drained):
      if needsListing { return list(&effects) }
      return inquire(at: now, &effects)
    case (.listing, .drained), (.asking, .drained):
      return state

    case (_, .listingBegan):
      snapshot.beginListing()
      return state

    case (.listing, .listingEnded(isWhole: true)):
      needsListing = false
      statistics.listings += 1
      pending.merge(snapshot.endListing())
      return inquire(at: now, &effects)
    case (.listing(let attempts), .listingEnded(isWhole: false)):
      statistics.interruptedListings += 1
      return listAgain(after: attempts, at: now, &effects)
    case (.listing(let attempts), .failed):
      return fail(after: attempts, at: now, &effects)
    case (.asking, .failed), (.settled, .failed):
      needsListing = true
      return fail(after: 0, at: now, &effects)
    case (.settled, .listingEnded), (.asking, .listingEnded):
      return state

    case (.asking(let inquiry), .answered(let request, let answer)):
      return accept(answer, to: request, in: inquiry, at: now, &effects)
    case (.listing, .answered), (.settled, .answered):
      return state

    case (.listing, .timerFired(.retry)):
      return list(&effects)
    case (.settled, .timerFired(.retry)), (.asking, .timerFired(.retry)):
      return state
    case (_, .timerFired(.hold)):
      guard isHolding else { return state }
      isHolding = false
      publish(verdict, &effects)
      return state
    }
  }

  // MARK: Listing

  private mutating func list(_ effects: inout Effects) -> State {
    effects.append(.list)
    if case .listing(let attempts) = state { return .listing(attempts: attempts) }
    return .listing(attempts: 0)
  }

  private func listAgain(after attempts: Int, at now: Duration, _ effects: inout Effects) -> State {
    if attempts < Self.eagerAttempts {
      effects.append(.list)
    } else {
      effects.append(.arm(.retry, at: now + Self.retryPause))
    }
    return .listing(attempts: attempts + 1)
  }

  /// A refusal may pass; a status that nobody can vouch for is not kept while it lasts.
  private mutating func fail(after attempts: Int, at now: Duration, _ effects: inout Effects) -> State {
    if attempts >= Self.eagerAttempts, let published, published.status != .unknown {
      if isHolding { effects.append(.disarm(.hold)) }
      isHolding = false
      listingCause = .resynced
      publish(.unknown, .unresolved, .reachability, &effects)
    }
    return listAgain(after: attempts, at: now, &effects)
  }

  // MARK: Asking

  private mutating func inquire(at now: Duration, _ effects: inout Effects) -> State {
    let families = pending.routing.intersection(configuration.target.families)
    guard !families.isEmpty else {
      conclude(at: now, &effects)
      return .settled
    }
    for index in pending.dependents { effects.append(.readLink(index)) }
    var inquiry = Inquiry(families: families, outstanding: 0)
    inquiry.isEarly = pending.isAnnouncedEarly
    // What `readLink` finds is part of this inquiry; only the list of links still has to be told.
    pending.routing = []
    pending.dependents = []
    pending.isAnnouncedEarly = false
    return ask(inquiry, &effects)
  }

  private mutating func ask(_ inquiry: Inquiry, _ effects: inout Effects) -> State {
    var inquiry = inquiry
    inquiry.widened = []
    for family in AddressFamily.allCases where inquiry.families.contains(family) {
      candidates[family].removeAll(keepingCapacity: true)
      effects.append(.lookUp(RouteRequest(family)))
      inquiry.outstanding += 1
    }
    return .asking(inquiry)
  }

  private mutating func accept(
    _ answer: RouteAnswer, to request: RouteRequest, in inquiry: Inquiry, at now: Duration, _ effects: inout Effects
  ) -> State {
    var inquiry = inquiry
    inquiry.outstanding -= 1
    let evaluator = PathEvaluator(snapshot: snapshot, configuration: configuration)
    switch request.scope {
    case .plain:
      answers[request.family] = answer
      widen(&inquiry, request.family, evaluator, &effects)
    case .allHops:
      // Only a way that works is better than the kernel's own choice, whose fault is to be named.
      if case .reachable = evaluator.judge(answer, request.family) { answers[request.family] = answer }
    case .link:
      if case .hop(let hop) = answer { candidates[request.family].append(hop) }
    }
    guard inquiry.outstanding <= 0 else { return .asking(inquiry) }
    chooseAmongCandidates(inquiry)

    if !inquiry.isConfirmed, isDoubtful(inquiry, evaluator) {
      inquiry.isConfirmed = true
      inquiry.outstanding = 0
      effects.append(.settle)
      return ask(inquiry, &effects)
    }
    conclude(at: now, &effects)
    return .settled
  }

  /// Asks further where the kernel's own choice does not settle the matter: its link is not to be counted, or is dead and
  /// may be but one of several hops.
  private func widen(
    _ inquiry: inout Inquiry, _ family: AddressFamily, _ evaluator: PathEvaluator, _ effects: inout Effects
  ) {
    guard case .hop(let hop) = answers[family], let interface = snapshot.interface(hop.interfaceIndex) else { return }
    if !evaluator.includes(interface) {
      inquiry.widened.insert(AddressFamilies(family))
      for other in snapshot.interfaces where evaluator.includes(other) && snapshot.interfaces.isUsable(other) {
        effects.append(.lookUp(RouteRequest(family, .link(other.index))))
        inquiry.outstanding += 1
      }
    } else if case .failed = evaluator.judge(answers[family], family) {
      effects.append(.lookUp(RouteRequest(family, .allHops)))
      inquiry.outstanding += 1
    }
  }

  private mutating func chooseAmongCandidates(_ inquiry: Inquiry) {
    for family in AddressFamily.allCases where inquiry.widened.contains(family) {
      let found = candidates[family].sorted { ($0.metric, $0.interfaceIndex) < ($1.metric, $1.interfaceIndex) }
      answers[family] = found.isEmpty ? .noRoute : .hops(found)
    }
  }

  /// An answer that changes nothing after something was announced early, or that denies what is already known, may have
  /// been given before the kernel did what it said. It says nothing more when it does it.
  private func isDoubtful(_ inquiry: Inquiry, _ evaluator: PathEvaluator) -> Bool {
    if inquiry.isEarly, verdict == concluded { return true }
    return AddressFamily.allCases.contains { inquiry.families.contains($0) && evaluator.contradicts(answers[$0]) }
  }

  // MARK: Publishing

  private func familyVerdict(_ family: AddressFamily) -> PathEvaluator.FamilyVerdict? {
    guard configuration.target.families.contains(family) else { return nil }
    return PathEvaluator(snapshot: snapshot, configuration: configuration).judge(answers[family], family)
  }

  private var verdict: NetworkPath.Verdict {
    PathEvaluator(snapshot: snapshot, configuration: configuration)
      .combine(ipv4: familyVerdict(.ipv4), ipv6: familyVerdict(.ipv6))
  }

  private mutating func conclude(at now: Duration, _ effects: inout Effects) {
    let verdict = verdict
    concluded = verdict
    if verdict != published {
      let isLoss = published?.isReachable == true && !verdict.isReachable
      if isLoss, configuration.hold > .zero {
        if !isHolding { effects.append(.arm(.hold, at: now + configuration.hold)) }
        isHolding = true
      } else {
        stopHolding(&effects)
        publish(verdict, &effects)
      }
    } else {
      stopHolding(&effects)
    }
    if pending.isVisible, let published {
      publish(published, .interfaceChanged, .interfaces, &effects)
    }
    pending = SnapshotDelta()
    listingCause = nil
  }

  private mutating func stopHolding(_ effects: inout Effects) {
    if isHolding { effects.append(.disarm(.hold)) }
    isHolding = false
  }

  private mutating func publish(_ verdict: NetworkPath.Verdict, _ effects: inout Effects) {
    publish(verdict, reason(for: verdict), published == nil ? .initial : .reachability, &effects)
  }

  private mutating func publish(
    _ verdict: NetworkPath.Verdict, _ reason: ReachabilityReason, _ change: Change, _ effects: inout Effects
  ) {
    if change != .interfaces {
      statistics.transitions += 1
      pending.isVisible = false
    }
    published = verdict
    effects.append(.publish(NetworkPath(verdict: verdict, reason: reason, interfaces: snapshot.interfaces), change))
  }

  private func reason(for new: NetworkPath.Verdict) -> ReachabilityReason {
    let evaluator = PathEvaluator(snapshot: snapshot, configuration: configuration)
    let (ipv4, ipv6) = (familyVerdict(.ipv4), familyVerdict(.ipv6))
    guard let old = published else {
      return new.isReachable ? .initial : evaluator.failureReason(ipv4: ipv4, ipv6: ipv6)
    }
    guard new.isReachable else { return evaluator.lossReason(published: old, ipv4: ipv4, ipv6: ipv6) }
    if let listingCause { return listingCause }
    if !old.isReachable { return .routeUp }
    if new.medium != old.medium { return .mediumChanged }
    if (new.interfaceIndex, new.interfaceName) != (old.interfaceIndex, old.interfaceName) { return .interfaceChanged }
    return .addressChanged
  }
}

/// One value for each family.
private struct FamilyPair<Value: Sendable>: Sendable {
  private var ipv4: Value
  private var ipv6: Value

  init(_ value: Value) {
    ipv4 = value
    ipv6 = value
  }

  subscript(family: AddressFamily) -> Value {
    get { family == .ipv4 ? ipv4 : ipv6 }
    _modify { if family == .ipv4 { yield &ipv4 } else { yield &ipv6 } }
  }
}
