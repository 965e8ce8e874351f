import FoundationEssentials
import Glibc
import HTTPTypes

/// A request that has failed: what kind of failure, which operation, and its own number for it.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
  /// What a caller may want to tell apart. More may come.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// By its caller.
    public static let cancelled = Kind(description: "cancelled")
    /// The manager was invalidated, or is gone.
    public static let invalidated = Kind(description: "the session manager is invalidated")
    public static let timedOut = Kind(description: "timed out")
    /// Nobody knows an address for the name of the server or of its proxy.
    public static let notResolved = Kind(description: "the host was not found")
    /// AFNetworking's name for ``notResolved``.
    public static var cannotFindHost: Kind { notResolved }
    public static let cannotConnect = Kind(description: "cannot connect")
    /// The server has gone away in the middle, or what it says is not HTTP.
    public static let connectionLost = Kind(description: "the connection was lost")
    /// The network between this machine and the server is gone or has changed: there is no route to the server, or the
    /// connection's local address, link or route is not there any more.
    public static let pathLost = Kind(description: "the path to the server was lost")
    /// There was no path to the network, for longer than the task waits for one.
    public static let notReachable = Kind(description: "not reachable")
    /// TLS failed for another reason than a certificate: ``HTTPError/tlsFailure`` has it, if it is known.
    public static let secureConnectionFailed = Kind(description: "no secure connection")
    /// The certificate or its chain is not valid, has another name, or has none of the pins. Nothing of the request was sent.
    public static let serverCertificateUntrusted = Kind(description: "the server's certificate is not trusted")
    /// The server wants a client certificate, and ``HTTPSessionConfiguration/clientCertificates`` has none for the host.
    public static let clientCertificateRequired = Kind(description: "the server requires a client certificate")
    /// The server does not accept the client certificate of the session.
    public static let clientCertificateRejected = Kind(description: "the server rejected the client certificate")
    public static let tooManyRedirects = Kind(description: "too many redirects")
    /// The status is none of those that are accepted.
    public static let badServerResponse = Kind(description: "unacceptable response")
    /// The body is not of an accepted type, cannot be decoded, or is compressed and damaged or without its end.
    public static let cannotDecodeContentData = Kind(description: "the body cannot be decoded")
    /// The response is larger than the limit.
    public static let responseTooLarge = Kind(description: "the response is too large")
    /// The parameters or the body cannot be put into a request. Nothing was sent.
    public static let cannotEncodeRequest = Kind(description: "the request cannot be encoded")
    public static let badURL = Kind(description: "not a URL for a request")
    /// A file cannot be read or written.
    public static let fileFailed = Kind(description: "a file failed")
    /// The security policy cannot be used as it is.
    public static let badSecurityPolicy = Kind(description: "unusable security policy")
    /// There is no token to authenticate with, because it could not be refreshed.
    public static let notAuthenticated = Kind(description: "not authenticated")
    /// A ``RecordedTransport`` has no answer to the request.
    public static let notRecorded = Kind(description: "not recorded")
    /// The session cannot be made as its configuration says. The message says what to change.
    public static let badConfiguration = Kind(description: "unusable configuration")
    public static let other = Kind(description: "failed")
  }

  public var kind: Kind { facts.kind }
  /// The call that failed, or what was being done.
  public var operation: String { facts.operation }
  /// Its own number: libcurl's, OpenSSL's, or `errno`; 0 where it has none.
  public var code: CInt { facts.code }
  /// The words of the library or of the system for ``code``.
  public var message: String { facts.message }
  /// What the server has answered, as far as it has.
  public var response: HTTPResponse? {
    get { facts.response }
    set { facts.response = newValue }
  }
  /// The body that came with ``response``, where it was kept in memory.
  public var body: Data? {
    get { facts.body }
    set { facts.body = newValue }
  }
  /// What the serializer has made of ``body`` in spite of the status.
  public var decoded: (any Sendable)? {
    get { facts.decoded }
    set { facts.decoded = newValue }
  }
  /// What is wrong with TLS or with a certificate; nil if the failure is another one.
  public var tlsFailure: TLSFailure? {
    get { facts.tlsFailure }
    set { facts.tlsFailure = newValue }
  }
  /// A second reason beneath this one.
  public var underlying: (any Error)? {
    get { facts.underlying }
    set { facts.underlying = newValue }
  }

  private struct Facts {
    let kind: Kind
    let operation: String
    let code: CInt
    let message: String
    var response: HTTPResponse?
    var body: Data?
    var decoded: (any Sendable)?
    var tlsFailure: TLSFailure?
    var underlying: (any Error)?
  }

  /// Apart, as they are large: every result has room for an error, and is copied on its way.
  private indirect enum Storage { case facts(Facts) }

  private var storage: Storage

  private var facts: Facts {
    get {
      switch storage {
      case .facts(let facts): facts
      }
    }
    set { storage = .facts(newValue) }
  }

  /// - Parameters:
  ///   - kind: What a program can act on.
  ///   - operation: The call that failed, or what was being done.
  ///   - code: Of the library or the system; 0 for none.
  ///   - message: The words of the library or of the system.
  ///   - underlying: A second reason beneath this one.
  public init(
    _ kind: Kind, _ operation: String, code: CInt = 0, message: String = "", underlying: (any Error)? = nil
  ) {
    storage = .facts(
      Facts(kind: kind, operation: operation, code: code, message: message, underlying: underlying))
  }

  public var description: String {
    let reason = message.isEmpty ? "" : ": \(message)"
    let beneath = underlying.map { " (\($0))" } ?? ""
    return "\(kind) (\(operation)\(reason))\(beneath)"
  }
}

extension HTTPError {
  /// The call that has just failed with `errno`.
  init(file path: String, _ operation: String) {
    let code = errno
    self.init(.fileFailed, "\(operation) \(path)", code: code, message: unsafe String(cString: strerror(code)))
  }
}
