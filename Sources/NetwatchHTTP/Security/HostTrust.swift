import CLibOpenSSL
import HTTPTypes

/// Whom a session trusts as one host, and how it names itself there.
@safe final class HostTrust {
  let evaluator: TrustEvaluator
  let certificate: ClientCertificate?

  init(_ evaluator: TrustEvaluator, _ certificate: ClientCertificate?) {
    self.evaluator = evaluator
    self.certificate = certificate
  }

  var policy: SecurityPolicy { evaluator.policy }
}

/// Whom a session trusts, host by host. Belongs to the session's loop, and outlives its connections.
///
/// What holds for a host never changes: libcurl uses connections and TLS sessions again for the same host alone.
final class SessionTrust {
  private struct Pair: Hashable {
    let evaluator: ObjectIdentifier
    let certificate: ObjectIdentifier?
  }

  /// Of the proxy, which is never shown a client certificate.
  let proxy: HostTrust
  private let policies: HostTable<TrustEvaluator>
  /// Nil: other hosts are refused.
  private let other: TrustEvaluator?
  private let certificates: HostTable<ClientCertificate>
  /// The same for all hosts; nil if there is a difference.
  private let uniform: HostTrust?
  private var known: [Pair: HostTrust] = [:]

  /// - Parameters:
  ///   - policy: For the hosts without one of their own, and for the proxy.
  ///   - policies: By host.
  ///   - refusesOthers: Whether hosts without a policy of their own are refused.
  ///   - certificates: By host.
  /// - Throws: `badSecurityPolicy`.
  init(
    _ policy: SecurityPolicy, _ policies: [String: SecurityPolicy] = [:], refusesOthers: Bool = false,
    certificates: [String: ClientCertificate] = [:]
  ) throws(HTTPError) {
    guard policies["*"] == nil else {
      throw HTTPError(
        .badSecurityPolicy, "start session",
        message: "hostPolicies: give the policy for all other hosts to the session, instead of '*'")
    }
    var evaluators: [String: TrustEvaluator] = [:]
    for (host, policy) in policies { evaluators[host] = try TrustEvaluator(policy) }
    let evaluator = try TrustEvaluator(policy)
    self.policies = try HostTable(evaluators, "hostPolicies")
    self.certificates = try HostTable(certificates, "clientCertificates")
    other = refusesOthers ? nil : evaluator
    proxy = HostTrust(evaluator, nil)
    uniform = policies.isEmpty && !refusesOthers && certificates.isEmpty ? proxy : nil
  }

  /// Nil if the request's host is refused, and for what is no host.
  func trust(of request: HTTPRequest) -> HostTrust? {
    if let uniform { return uniform }
    guard let host = request.authority.flatMap(Authority.init)?.host, let name = HostName.canonical(host),
      let evaluator = policies[name] ?? other
    else { return nil }
    let certificate = certificates[name]
    let pair = Pair(
      evaluator: ObjectIdentifier(evaluator), certificate: certificate.map { ObjectIdentifier($0.identity) })
    if let trust = known[pair] { return trust }
    let trust = HostTrust(evaluator, certificate)
    known[pair] = trust
    return trust
  }
}
