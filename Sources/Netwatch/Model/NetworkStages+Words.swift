extension NetworkStage {
  /// The name of the stage for people.
  package var words: String {
    switch self {
    case .dns: "DNS"
    case .link, .address, .gateway, .internet: rawValue
    }
  }
}

extension NetworkStages {
  /// The first stage that fails, for people, such as `gateway: 192.0.2.1 does not answer`; nil if no stage is known to fail.
  package var faultWords: String? { failing.map { "\($0.words): \(words(of: $0))" } }

  /// Returns the finding about a stage in words for people.
  package func words(of stage: NetworkStage) -> String {
    self[stage].words(of: stage, isProbed: internet.evidence != .notProbed)
  }
}

extension StageFinding {
  /// Returns the finding in words for people.
  ///
  /// - Parameter isProbed: Whether there is a probe already.
  fileprivate func words(of stage: NetworkStage, isProbed: Bool) -> String {
    let advice = isProbed ? "" : "; add --probe URL to check"
    let name = address?.description ?? (stage == .dns ? "a server" : "it")
    return switch evidence {
    case .notExamined: "not known"
    case .running: "up"
    case .noCarrier: "no carrier; the cable, the access point or the other end is missing"
    case .linkDown: "switched off"
    case .noLink: "there is none"
    case .configured: name
    case .noAddress: "no address that traffic can come from"
    case .neighbourReachable: "\(name) is there"
    case .neighbourStale: "\(name) answered earlier; not checked recently"
    case .neighbourFailed: "\(name) does not answer"
    case .neighbourUnresolved: "\(name) was not checked yet"
    case .neighbourPermanent: "\(name) has a fixed entry, which is never checked"
    case .noNeighbours: "interfaces of this kind do not report it"
    case .noGateway: "the route needs none"
    case .noRoute: stage == .dns ? "no route leads to \(name)" : "no route leads out"
    case .answered: "\(name) has answered"
    case .routed: "not checked (a route to \(name) exists)\(advice)"
    case .local: "the server on this machine does not tell which servers it asks\(advice)"
    case .noServer: "none is configured"
    case .noAnswer: address.map { "\($0) does not answer" } ?? "no server answers"
    case .resolverFailed: "the resolver on this machine has no answer, though \(name) has one"
    case .tlsFailed: "no answer over TLS, though \(name) has one by plain DNS"
    case .full: "answers"
    case .portal: "a login page answers in its place"
    case .none: "does not answer"
    case .notProbed: "not checked; add --probe URL to check"
    }
  }
}
