/// How far the way to the internet works: what is known of each stage.
public struct NetworkStages: Hashable, Sendable {
  public internal(set) var link = StageFinding(.notExamined)
  public internal(set) var address = StageFinding(.notExamined)
  public internal(set) var gateway = StageFinding(.notExamined)
  public internal(set) var dns = StageFinding(.notExamined)
  public internal(set) var internet = StageFinding(.notExamined)

  package init() {}

  /// - Parameter finding: what is known of a stage.
  package init(_ finding: (NetworkStage) -> StageFinding) {
    link = finding(.link)
    address = finding(.address)
    gateway = finding(.gateway)
    dns = finding(.dns)
    internet = finding(.internet)
  }

  public subscript(stage: NetworkStage) -> StageFinding {
    switch stage {
    case .link: link
    case .address: address
    case .gateway: gateway
    case .dns: dns
    case .internet: internet
    }
  }

  /// The first stage that fails, which is where to look for the fault; nil where none is known to fail.
  public var failing: NetworkStage? { NetworkStage.allCases.first { self[$0].isFailed } }
}
