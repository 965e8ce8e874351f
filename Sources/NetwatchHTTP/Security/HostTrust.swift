import CLibOpenSSL
import HTTPTypes

/// The trust for one host: how a session evaluates it, and the client certificate for it.
@safe final class HostTrust {
  let evaluator: TrustEvaluator
  let certificate: ClientCertificate?

  init(_ evaluator: TrustEvaluator, _ certificate: ClientCertificate?) {
    self.evaluator = evaluator
    self.certificate = certificate
  }

  var policy: SecurityPolicy { evaluator.policy }
}

/// The trust of a session for each host. Belongs to the session's loop, and outlives its connections.
///
/// The trust for a host never changes, because libcurl reuses connections and TLS sessions for the same host only.
final class SessionTrust {
  private struct Pair: Hashable {
    let evaluator: ObjectIdentifier
    let certificate: ObjectIdentifier?
  }

  /// The trust for the proxy, which never gets a client certificate.
  let proxy: HostTrust
  private let policies: HostTable<TrustEvaluator>
  /// The evaluator for hosts without a policy. Nil if they are refused.
  private let other: TrustEvaluator?
  private let certificates: HostTable<ClientCertificate>
  /// The trust for all hosts. Nil if hosts differ.
  private let uniform: HostTrust?
  private var known: [Pair: HostTrust] = [:]

  /// - Parameters:
  ///   - policy: The policy for the proxy, and for hosts without a policy in `policies`.
  ///   - policies: The policies by host.
  ///   - refusesOthers: Whether hosts without a policy in `policies` are refused.
  ///   - certificates: The client certificates by host.
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

  /// Returns the trust for the host of a request. Nil if the host is refused or not valid.
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
