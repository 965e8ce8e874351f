/// The way to the internet, which has no address: to those of ``StandIns`` that prove something.
extension PathEvaluator {
  /// The positions in ``StandIns`` of the addresses to ask for, one after the other.
  func standIns(_ family: AddressFamily) -> [Int8] {
    let (first, last) = (snapshot.standIn(family), StandIns.last(family))
    return first == last ? [last] : [first, last]
  }

  /// The way to the first address that stands for the internet and about which the kernel's answer says something.
  func judgeInternet(
    _ family: AddressFamily, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> Way {
    let (first, last) = (snapshot.standIn(family), StandIns.last(family))
    if trail.steps == nil {
      // As nearly always: the default route has a gateway, or there is none.
      switch answers[RouteRequest(family, .plain, to: first)] {
      case .hop(let hop)? where hop.gateway != nil:
        return judge(hop, family, to: first, orElse: first == last ? nil : last, answers, &trail)
      case .noRoute?:
        if case .noRoute? = answers[RouteRequest(family, .plain, to: last)] { return .failed(.noRoute) }
      default: break
      }
    }
    guard let decisive = decisiveStandIn(family, answers, &trail) else { return .open }
    let other = decisive == last ? nil : last
    guard trail.steps != nil else { return judge(family, to: decisive, orElse: other, answers, &trail) }
    let addresses = StandIns.addresses(family)
    trail.note(.destination(addresses[Int(decisive)]))
    if decisive != first, let answer = answers[RouteRequest(family, .plain, to: first)] {
      trail.note(.passedOver(addresses[Int(first)], answer))
    }
    let way = judge(family, to: decisive, orElse: other, answers, &trail)
    trail.note(way.outcome)
    return way
  }

  /// The position of the address whose answer counts; nil if the kernel has to be asked.
  private func decisiveStandIn(
    _ family: AddressFamily, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> Int8? {
    let (first, last) = (snapshot.standIn(family), StandIns.last(family))
    let plain = RouteRequest(family, .plain, to: first)
    guard let answer = answers[plain] else {
      trail.needs(plain)
      return nil
    }
    guard first != last else { return last }
    if case .hop(let hop) = answer {
      if hop.gateway != nil || isTunnel(hop) { return first }
      guard let isOnLink = isOnLink(family, first, answers, &trail) else { return nil }
      if !isOnLink { return first }
    }
    let request = RouteRequest(family, .plain, to: last)
    guard let other = answers[request] else {
      trail.needs(request)
      return nil
    }
    return other == answer ? first : last
  }

  /// Whether the route to one of ``StandIns`` is that of a network on the link itself; nil if the kernel has to be asked.
  @inline(never) private func isOnLink(
    _ family: AddressFamily, _ position: Int8, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> Bool? {
    let request = RouteRequest(family, .allHops, to: position)
    guard let route = answers[request] else {
      trail.needs(request)
      return nil
    }
    guard case .hop(let hop) = route else { return false }
    return isOnLink(hop)
  }

  /// The route is about the link's own network and not about the internet.
  func isOnLink(_ hop: RouteHop) -> Bool {
    hop.isAutomatic && hop.gateway == nil && hop.prefixLength > StandIns.defaultPrefixLength && !isTunnel(hop)
  }
}
