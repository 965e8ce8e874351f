/// What the kernel has answered so far, until something happens that could make it answer differently.
package struct RouteAnswers: Sendable {
  /// The two that nearly every judgement needs, and nothing else. Not a pair: generic, it would go by the runtime's tables.
  private var plainIPv4: RouteAnswer?
  private var plainIPv6: RouteAnswer?
  /// Of the addresses that stand for the internet if the first ones have no route.
  private var lastIPv4: RouteAnswer?
  private var lastIPv6: RouteAnswer?
  private var others: [Entry] = []
  /// Kept longer: they cost a listing of routes each.
  private var hostRoutes: [Entry] = []

  private struct Entry: Sendable {
    let request: RouteRequest
    let answer: RouteAnswer
  }

  package init() {}

  package subscript(request: RouteRequest) -> RouteAnswer? {
    if case .plain = request.scope {
      if request.destination == 0 { return request.family == .ipv4 ? plainIPv4 : plainIPv6 }
      if request.isForLastStandIn { return request.family == .ipv4 ? lastIPv4 : lastIPv6 }
    }
    if case .hostRoute = request.scope { return hostRoutes.first { $0.request == request }?.answer }
    return others.first { $0.request == request }?.answer
  }

  mutating func keep(_ answer: RouteAnswer, to request: RouteRequest) {
    if case .plain = request.scope, request.destination == 0 {
      if request.family == .ipv4 { plainIPv4 = answer } else { plainIPv6 = answer }
    } else if case .plain = request.scope, request.isForLastStandIn {
      if request.family == .ipv4 { lastIPv4 = answer } else { lastIPv6 = answer }
    } else if case .hostRoute = request.scope {
      hostRoutes.append(Entry(request: request, answer: answer))
    } else {
      others.append(Entry(request: request, answer: answer))
    }
  }

  /// Something has been asked about what carries a tunnel.
  var lookBeneathTunnels: Bool {
    !others.isEmpty && others.contains { $0.request.isBeneath }
  }

  mutating func forgetHostRoutes() { hostRoutes = [] }

  mutating func forget(_ families: AddressFamilies) {
    if families.contains(.ipv4) { (plainIPv4, lastIPv4) = (nil, nil) }
    if families.contains(.ipv6) { (plainIPv6, lastIPv6) = (nil, nil) }
    if !others.isEmpty { others.removeAll { families.contains($0.request.family) } }
  }
}
