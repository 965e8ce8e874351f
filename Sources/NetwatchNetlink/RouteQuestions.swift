import Glibc
import Netwatch

/// Puts the questions of one monitor to the kernel.
struct RouteQuestions {
  private let user = getuid()
  private let port: UInt16?
  private var destinations: Destinations
  /// What is asked for every event, as bytes that are built once.
  private var plainIPv4: NetlinkRequest?
  private var plainIPv6: NetlinkRequest?

  init(_ destinations: Destinations, port: UInt16?) throws(NetlinkError) {
    self.destinations = destinations
    self.port = port
    if let address = destinations.ipv4.first { plainIPv4 = try .lookUp(address, user: user, .init(port: port)) }
    if let address = destinations.ipv6.first { plainIPv6 = try .lookUp(address, user: user, .init(port: port)) }
  }

  /// Answers by way of `queries`. What lies at the other end of a tunnel, `snapshot` knows.
  mutating func ask(
    _ request: RouteRequest, _ queries: NetlinkQueries, _ snapshot: @autoclosure () -> NetworkSnapshot
  ) throws(NetlinkError) -> RouteAnswer {
    if case .rules = request.scope { return try queries.rules(request.family) }
    if case .plain = request.scope, request.destination == 0 {
      return request.family == .ipv4 ? try ask(queries, &plainIPv4) : try ask(queries, &plainIPv6)
    }
    guard let lookUp = try rareLookUp(request, snapshot()) else { return .noRoute }
    var built: NetlinkRequest? = lookUp
    return try ask(queries, &built)
  }

  private func ask(_ queries: NetlinkQueries, _ request: inout NetlinkRequest?) throws(NetlinkError) -> RouteAnswer {
    guard var message = request.take() else { return .noRoute }
    defer { request = message }
    return try queries.lookUp(&message)
  }

  /// A lookup that only some layouts need; nil where it leads nowhere.
  @inline(never) private func rareLookUp(_ request: RouteRequest, _ snapshot: NetworkSnapshot) throws(NetlinkError)
    -> NetlinkRequest?
  {
    let addresses = request.destination == RouteRequest.internet ? Destinations.internet : destinations
    let position = max(0, Int(request.destination))
    var address = addresses[request.family].indices.contains(position) ? addresses[request.family][position] : nil
    var options = NetlinkRequest.LookUpOptions(port: request.destination == RouteRequest.internet ? nil : port)
    switch request.scope {
    case .plain, .rules: break
    case .allHops: options.wantsRoute = true
    case .link(let index): options.link = index
    case .marked(let mark): options.mark = mark
    case .remote(let tunnel):
      guard let interface = snapshot.interface(tunnel) else { return nil }
      address = interface.remote
      options.link = interface.lowerIndex ?? 0
    }
    // What carries a tunnel is sent by the kernel or by a program of root's; rules for this user are not about it.
    let sender = request.destination == RouteRequest.internet ? 0 : user
    return try address.map { address throws(NetlinkError) in try .lookUp(address, user: sender, options) }
  }
}
