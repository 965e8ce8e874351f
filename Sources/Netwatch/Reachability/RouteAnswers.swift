/// What the kernel has answered so far, until something happens that could make it answer differently.
package struct RouteAnswers: Sendable {
  /// The two that nearly every judgement needs, and nothing else. Not a pair: generic, it would go by the runtime's tables.
  private var plainIPv4: RouteAnswer?
  private var plainIPv6: RouteAnswer?
  private var others: [Entry] = []
  /// Kept longer: they cost a listing of routes each.
  private var hostRoutes: [Entry] = []

  private struct Entry: Sendable {
    let request: RouteRequest
    let answer: RouteAnswer
  }

  package init() {}

  package subscript(request: RouteRequest) -> RouteAnswer? {
    if case .plain = request.scope, request.destination == 0 {
      return request.family == .ipv4 ? plainIPv4 : plainIPv6
    }
    if case .hostRoute = request.scope { return hostRoutes.first { $0.request == request }?.answer }
    return others.first { $0.request == request }?.answer
  }

  mutating func keep(_ answer: RouteAnswer, to request: RouteRequest) {
    if case .plain = request.scope, request.destination == 0 {
      if request.family == .ipv4 { plainIPv4 = answer } else { plainIPv6 = answer }
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
    if families.contains(.ipv4) { plainIPv4 = nil }
    if families.contains(.ipv6) { plainIPv6 = nil }
    if !others.isEmpty { others.removeAll { families.contains($0.request.family) } }
  }
}
