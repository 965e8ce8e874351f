import FoundationEssentials
import NetwatchEventLoop

/// The reason why TLS with a server or a proxy has failed: a fault of a certificate, or a refusal by the other side. See
/// ``HTTPError/tlsFailure``.
public struct TLSFailure: Hashable, Sendable {
  /// The reasons that a program can tell apart. Later versions may add reasons.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// The reason in a few words of English, such as `certificate expired`.
    public let description: String

    /// The certificate has expired: ``TLSFailure/validUntil`` is in the past.
    public static let certificateExpired = Reason(description: "certificate expired")
    /// The certificate is not yet valid: ``TLSFailure/validFrom`` is in the future. The clock of this machine may be slow.
    public static let certificateNotYetValid = Reason(description: "certificate not yet valid")
    /// The certificate is for other hosts.
    public static let nameMismatch = Reason(description: "name mismatch")
    /// The chain does not lead to a trusted root. The server may have left out a certificate of the chain.
    public static let unknownAuthority = Reason(description: "unknown authority")
    /// The server's certificate is signed with its own key, and is not a trusted root.
    public static let selfSigned = Reason(description: "self-signed certificate")
    /// The chain contains none of the policy's pins.
    public static let noPinMatched = Reason(description: "no pin matched")
    /// The chain has another fault: a wrong signature, a key that is too weak, or a certificate that must not sign others.
    public static let certificateInvalid = Reason(description: "invalid certificate")
    /// The certificate, or one of an authority above it, is on one of the policy's ``SecurityPolicy/revocationLists``.
    public static let certificateRevoked = Reason(description: "certificate revoked")
    /// The policy has revocation lists, but no usable one from the authority that signed the certificate: it is missing, out of
    /// date, or not signed by that authority.
    public static let revocationUnknown = Reason(description: "revocation unknown")
    /// ``SecurityPolicy/check`` has thrown an error, which the message contains.
    public static let checkFailed = Reason(description: "check failed")
    /// The session has no policy for the host (``HTTPSessionConfiguration/refusesHostsWithoutPolicy``). No connection was made.
    public static let noPolicyForHost = Reason(description: "no policy for the host")
    /// The two sides support no common version of TLS.
    public static let versionRefused = Reason(description: "TLS version refused")
    /// The server requires a client certificate, and the session has none for the host.
    public static let clientCertificateRequired = Reason(description: "client certificate required")
    /// The server has rejected the client certificate of the session.
    public static let clientCertificateRejected = Reason(description: "client certificate rejected")
    /// The other side has ended the handshake with an alert (RFC 8446, section 6.2) for another reason.
    public static let handshakeRefused = Reason(description: "handshake refused")
  }

  /// The facts about a certificate, read from it.
  struct Facts: Hashable, Sendable {
    var subject = ""
    var issuer = ""
    var names: [String] = []
    var validFrom: Date?
    var validUntil: Date?
  }

  /// The reason of the failure.
  public let reason: Reason
  /// The name or the address of the server, or of the proxy, without a port.
  public let host: String
  /// The failure in one sentence, with names and dates.
  public let message: String
  private let facts: Facts

  /// The subject of the certificate at fault, as `CN=example.org,O=Example` (RFC 2253). Empty if no certificate is at fault.
  public var subject: String { facts.subject }
  /// The authority that has signed the certificate, written like ``subject``.
  public var issuer: String { facts.issuer }
  /// The names and addresses that the certificate is for. At most 20 are listed.
  public var names: [String] { facts.names }
  /// The time from which the certificate is valid. Nil if no certificate is at fault.
  public var validFrom: Date? { facts.validFrom }
  /// The time until which the certificate is valid. Nil if no certificate is at fault.
  public var validUntil: Date? { facts.validUntil }

  init(_ reason: Reason, host: String, _ message: String, _ facts: Facts = Facts()) {
    self.reason = reason
    self.host = host
    self.message = message
    self.facts = facts
  }
}

extension TLSFailure: CustomStringConvertible {
  /// The failure in one sentence: ``message``.
  public var description: String { message }
}

extension TLSFailure.Facts {
  /// The certificate's name for people: its subject, else the names that it is for.
  var title: String {
    if !subject.isEmpty { return "'\(subject)'" }
    return names.isEmpty ? "without a name" : "for \(names.joined(separator: ", "))"
  }

  /// The date as text, such as `2026-07-01T12:00:00Z`.
  static func text(of date: Date?) -> String {
    guard let date else { return "an unknown time" }
    let time = CivilTime(secondsSince1970: Int64(date.timeIntervalSince1970))
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(time.year)-\(two(time.month))-\(two(time.day))T\(two(time.hour)):\(two(time.minute)):\(two(time.second))Z"
  }
}

extension HTTPError {
  /// Creates the error of a request, or of an evaluation of trust.
  ///
  /// - Parameter code: The error number of libcurl. Default: 0, if libcurl was not involved.
  init(_ failure: TLSFailure, _ operation: String, code: CInt = 0) {
    let kind: Kind =
      switch failure.reason {
      case .clientCertificateRequired: .clientCertificateRequired
      case .clientCertificateRejected: .clientCertificateRejected
      case .versionRefused, .handshakeRefused: .secureConnectionFailed
      default: .serverCertificateUntrusted
      }
    self.init(kind, operation, code: code, domain: code == 0 ? nil : .libcurl, message: failure.message)
    tlsFailure = failure
  }
}
