/// The findings about each stage of the way to the internet.
public struct NetworkStages: Hashable, Sendable {
  /// The finding about the link.
  public internal(set) var link = StageFinding(.notExamined)
  /// The finding about the address.
  public internal(set) var address = StageFinding(.notExamined)
  /// The finding about the router of the default route.
  public internal(set) var gateway = StageFinding(.notExamined)
  /// The finding about the configured name servers.
  public internal(set) var dns = StageFinding(.notExamined)
  /// The finding about the internet.
  public internal(set) var internet = StageFinding(.notExamined)

  package init() {}

  /// Creates the findings by asking for each stage.
  ///
  /// - Parameter finding: Returns the finding about a stage.
  package init(_ finding: (NetworkStage) -> StageFinding) {
    link = finding(.link)
    address = finding(.address)
    gateway = finding(.gateway)
    dns = finding(.dns)
    internet = finding(.internet)
  }

  /// The finding about a stage.
  public subscript(stage: NetworkStage) -> StageFinding {
    switch stage {
    case .link: link
    case .address: address
    case .gateway: gateway
    case .dns: dns
    case .internet: internet
    }
  }

  /// The first stage that fails, which is where to look for the fault. Nil if none is known to fail.
  public var failing: NetworkStage? { NetworkStage.allCases.first { self[$0].isFailed } }
}

extension NetworkStages: CustomStringConvertible {
  /// The state of each stage in order, such as `link ok, address ok, gateway unknown, dns unknown, internet unknown`.
  public var description: String {
    NetworkStage.allCases.map { "\($0) \(self[$0].state)" }.joined(separator: ", ")
  }
}
