import FoundationEssentials
import Glibc
import HTTPTypes
import Netwatch

/// The failure of a request: its kind, the operation that failed, and the error number of the library or the system.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failures that a program can tell apart. Later versions may add kinds.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind in a few words of English, such as `timed out`.
    public let description: String

    /// The request was cancelled by its caller.
    public static let cancelled = Kind(description: "cancelled")
    /// The session manager was invalidated, or has been released.
    public static let invalidated = Kind(description: "the session manager is invalidated")
    /// The task's ``HTTPTaskOptions/timeout`` or ``HTTPTaskOptions/totalTimeout`` has passed.
    public static let timedOut = Kind(description: "timed out")
    /// The name of the server or of its proxy has no known address.
    public static let notResolved = Kind(description: "the host was not found")
    /// AFNetworking's name for ``notResolved``.
    public static var cannotFindHost: Kind { notResolved }
    /// No connection to the server or its proxy could be made.
    public static let cannotConnect = Kind(description: "cannot connect")
    /// The connection ended before the response was complete, or the server's bytes are not HTTP.
    public static let connectionLost = Kind(description: "the connection was lost")
    /// The network path to the server is gone or has changed. There is no route to the server, or the local address, the
    /// interface or the route of the connection no longer exists.
    public static let pathLost = Kind(description: "the path to the server was lost")
    /// The task has waited for a path without success, or its options exclude the present path: see
    /// ``HTTPTaskOptions/requiredMedia`` and ``HTTPTaskOptions/allowsExpensivePath``.
    public static let notReachable = Kind(description: "not reachable")
    /// TLS failed for a reason other than a certificate. ``HTTPError/tlsFailure`` has the reason, if it is known.
    public static let secureConnectionFailed = Kind(description: "no secure connection")
    /// The certificate or its chain is not valid, is for another name, or matches none of the pins. Nothing of the request was
    /// sent.
    public static let serverCertificateUntrusted = Kind(description: "the server's certificate is not trusted")
    /// The server requires a client certificate, and ``HTTPSessionConfiguration/clientCertificates`` has none for the host.
    public static let clientCertificateRequired = Kind(description: "the server requires a client certificate")
    /// The server has rejected the client certificate of the session.
    public static let clientCertificateRejected = Kind(description: "the server rejected the client certificate")
    /// The server has sent more redirects than ``HTTPTaskOptions/maximumRedirects``.
    public static let tooManyRedirects = Kind(description: "too many redirects")
    /// The status of the response is not an accepted one.
    public static let badServerResponse = Kind(description: "unacceptable response")
    /// The body has a type that is not accepted, or cannot be decoded, or its compressed data is damaged or incomplete.
    public static let cannotDecodeContentData = Kind(description: "the body cannot be decoded")
    /// The response is larger than the limit.
    public static let responseTooLarge = Kind(description: "the response is too large")
    /// The parameters or the body cannot be put into a request. In most cases nothing was sent, but this can also be a body
    /// that ended too early.
    public static let cannotEncodeRequest = Kind(description: "the request cannot be encoded")
    /// The URL of a request or of a redirect cannot be used, for example because it is not http or https, or has no valid host.
    public static let badURL = Kind(description: "not a URL for a request")
    /// A file cannot be read or written.
    public static let fileFailed = Kind(description: "a file failed")
    /// The security policy cannot be used as it is.
    public static let badSecurityPolicy = Kind(description: "unusable security policy")
    /// There is no token to authenticate with, because it could not be refreshed.
    public static let notAuthenticated = Kind(description: "not authenticated")
    /// A ``RecordedTransport`` has no answer to the request.
    public static let notRecorded = Kind(description: "not recorded")
    /// The session or the task cannot be made with its configuration. The message names the change to make.
    public static let badConfiguration = Kind(description: "unusable configuration")
    /// Any other failure, such as one of a library or of the system.
    public static let other = Kind(description: "failed")
  }

  /// The kind of the failure.
  public var kind: Kind { facts.kind }
  /// The call that failed, or the work that was being done.
  public var operation: String { facts.operation }
  /// The error number from libcurl, OpenSSL or the system (`errno`), or the status of the response for `badServerResponse`. 0 if
  /// there is none.
  public var code: CInt { facts.code }
  /// The details: the text of the library or of the system for ``code``, or words of this module. Empty if there are none.
  public var message: String { facts.message }
  /// The head of the server's response. Nil if the server has not sent one.
  public var response: HTTPResponse? {
    get { facts.response }
    set { facts.response = newValue }
  }
  /// The body that came with ``response``. Nil if it was not kept in memory.
  public var body: Data? {
    get { facts.body }
    set { facts.body = newValue }
  }
  /// The value that the serializer decoded from ``body`` although the status is not accepted. Nil if there is none.
  public var decoded: (any Sendable)? {
    get { facts.decoded }
    set { facts.decoded = newValue }
  }
  /// The reason why TLS or a certificate has failed. Nil for any other failure, and if the reason is not known.
  public var tlsFailure: TLSFailure? {
    get { facts.tlsFailure }
    set { facts.tlsFailure = newValue }
  }
  /// The error that caused this one. Nil if there is none.
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

  /// The facts are stored indirectly because they are large: every result reserves room for an error and is copied several
  /// times.
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

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - kind: The kind of the failure, which a program can act on.
  ///   - operation: The call that failed, or the work that was being done.
  ///   - code: The error number of the library or of the system, or a status. Default: 0, none.
  ///   - message: The details. Default: empty.
  ///   - underlying: The error that caused this one. Default: nil.
  public init(
    _ kind: Kind, _ operation: String, code: CInt = 0, message: String = "", underlying: (any Error)? = nil
  ) {
    storage = .facts(
      Facts(kind: kind, operation: operation, code: code, message: message, underlying: underlying))
  }

  /// The failure in one line, for logs: the kind, the operation, the message and the underlying error.
  public var description: String {
    let reason = message.isEmpty ? "" : ": \(message)"
    let beneath = underlying.map { " (\($0))" } ?? ""
    return "\(kind) (\(operation)\(reason))\(beneath)"
  }
}

extension HTTPError {
  /// Creates an error from `errno`, for a file call that has just failed.
  init(file path: String, _ operation: String) {
    let code = errno
    self.init(.fileFailed, "\(operation) \(path)", code: code, message: unsafe String(cString: strerror(code)))
  }
}

extension HTTPError {
  /// Creates the error of a request whose path is lost.
  ///
  /// - Parameters:
  ///   - peers: The addresses of the server, or of its proxy, that were tried.
  ///   - failure: The error of the attempt; nil if there is none.
  static func lossOfPath(to peers: [IPAddress], _ failure: HTTPError?) -> HTTPError {
    let peers = peers.map(\.description).joined(separator: ", ")
    return HTTPError(
      .pathLost, "request", code: failure?.code ?? 0,
      message: peers.isEmpty ? "there is no path to the internet" : "there is no path to \(peers)",
      underlying: failure)
  }
}

extension HTTPError.Kind {
  /// Whether a lost path can cause this kind of failure.
  var maySpeakOfPath: Bool {
    [.notResolved, .cannotConnect, .connectionLost, .timedOut, .secureConnectionFailed].contains(self)
  }
}
