import Glibc
import Netwatch

/// Puts the questions of one monitor to the kernel.
struct RouteQuestions {
  private let user = getuid()
  private let port: UInt16?
  /// What is asked for every event, as bytes that are built once.
  private var plainIPv4: NetlinkRequest?
  private var plainIPv6: NetlinkRequest?
  /// The same about the DNS root servers, which stand for the internet if nothing else does.
  private var lastIPv4: NetlinkRequest?
  private var lastIPv6: NetlinkRequest?

  init(_ destinations: Destinations, port: UInt16?) throws(NetlinkError) {
    self.port = port
    plainIPv4 = try Self.lookUp(destinations.ipv4.first, user, port)
    plainIPv6 = try Self.lookUp(destinations.ipv6.first, user, port)
    guard destinations.areStandIns else { return }
    lastIPv4 = try Self.lookUp(destinations.ipv4.last, user, port)
    lastIPv6 = try Self.lookUp(destinations.ipv6.last, user, port)
  }

  private static func lookUp(_ address: IPAddress?, _ user: uid_t, _ port: UInt16?) throws(NetlinkError)
    -> NetlinkRequest?
  {
    guard let address else { return nil }
    return try .lookUp(address, user: user, .init(port: port))
  }

  /// Answers by way of `queries`.
  ///
  /// - Parameters:
  ///   - address: what the question is about, as the machine says; nil where it leads nowhere.
  ///   - lower: the link that a tunnel names as its own; 0 for none.
  mutating func ask(
    _ request: RouteRequest, _ queries: NetlinkQueries, address: @autoclosure () -> IPAddress?,
    lower: @autoclosure () -> Int32
  ) throws(NetlinkError) -> RouteAnswer {
    if case .rules = request.scope { return try queries.rules(request.family) }
    if case .hostRoute(let link) = request.scope { return try queries.hostRoute(over: link, request.family) }
    if case .plain = request.scope {
      if request.destination == 0 {
        return request.family == .ipv4 ? try ask(queries, &plainIPv4) : try ask(queries, &plainIPv6)
      }
      if request.isForLastStandIn, lastIPv4 != nil {
        return request.family == .ipv4 ? try ask(queries, &lastIPv4) : try ask(queries, &lastIPv6)
      }
    }
    guard let address = address() else { return .noRoute }
    var built: NetlinkRequest? = try rareLookUp(request, address, lower())
    return try ask(queries, &built)
  }

  private func ask(_ queries: NetlinkQueries, _ request: inout NetlinkRequest?) throws(NetlinkError) -> RouteAnswer {
    guard var message = request.take() else { return .noRoute }
    defer { request = message }
    return try queries.lookUp(&message)
  }

  /// A lookup that only some layouts need.
  @inline(never) private func rareLookUp(
    _ request: RouteRequest, _ address: IPAddress, _ lower: Int32
  ) throws(NetlinkError) -> NetlinkRequest {
    var options = NetlinkRequest.LookUpOptions(port: request.isBeneath ? nil : port)
    switch request.scope {
    case .plain, .rules, .source, .hostRoute: break
    case .allHops, .lifetime: options.wantsRoute = true
    case .link(let index): options.link = index
    case .marked(let mark): options.mark = mark
    case .remote: options.link = lower
    }
    // What carries a tunnel is sent by the kernel or by a program of root's; rules for this user are not about it.
    return try .lookUp(address, user: request.isBeneath ? 0 : user, options)
  }
}
