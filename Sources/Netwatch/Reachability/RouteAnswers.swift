/// What the kernel has answered so far, until something happens that could make it answer differently.
package struct RouteAnswers: Sendable {
  /// The two that nearly every judgement needs, and nothing else.
  private var plain = FamilyPair<RouteAnswer?>(nil)
  private var others: [Entry] = []

  private struct Entry: Sendable {
    let request: RouteRequest
    let answer: RouteAnswer
  }

  package init() {}

  package subscript(request: RouteRequest) -> RouteAnswer? {
    if case .plain = request.scope, request.destination == 0 { return plain[request.family] }
    return others.first { $0.request == request }?.answer
  }

  mutating func keep(_ answer: RouteAnswer, to request: RouteRequest) {
    if case .plain = request.scope, request.destination == 0 {
      plain[request.family] = answer
    } else {
      others.append(Entry(request: request, answer: answer))
    }
  }

  /// Something has been asked about what carries a tunnel.
  var lookBeneathTunnels: Bool {
    !others.isEmpty && others.contains { $0.request.destination == RouteRequest.internet }
  }

  mutating func forget(_ families: AddressFamilies) {
    if families.contains(.ipv4) { plain.ipv4 = nil }
    if families.contains(.ipv6) { plain.ipv6 = nil }
    if !others.isEmpty { others.removeAll { families.contains($0.request.family) } }
  }
}
