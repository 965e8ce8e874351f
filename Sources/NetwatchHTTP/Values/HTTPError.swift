import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchLibC

/// The failure of a request: its kind, the operation that failed, and the error number of the library or the system.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failures that a program can tell apart. Later versions may add kinds.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind as code writes it, such as `timedOut`: for logs, metrics and other programs.
    public let name: String
    /// The kind in a few words of English, such as `timed out`.
    public let description: String

    /// The request was cancelled by its caller.
    public static let cancelled = Kind(name: "cancelled", description: "cancelled")
    /// The session manager was invalidated, or has been released.
    public static let invalidated = Kind(name: "invalidated", description: "the session manager is invalidated")
    /// The task's ``HTTPTaskOptions/timeout`` or ``HTTPTaskOptions/totalTimeout`` has passed.
    public static let timedOut = Kind(name: "timedOut", description: "timed out")
    /// The name of the server or of its proxy has no known address.
    public static let notResolved = Kind(name: "notResolved", description: "the host was not found")
    /// AFNetworking's name for ``notResolved``.
    public static var cannotFindHost: Kind { notResolved }
    /// No connection to the server or its proxy could be made.
    public static let cannotConnect = Kind(name: "cannotConnect", description: "cannot connect")
    /// The connection ended before the response was complete, or the server's bytes are not HTTP. ``HTTPError/reason`` tells which.
    public static let connectionLost = Kind(name: "connectionLost", description: "the connection was lost")
    /// The network path to the server is gone or has changed. There is no route to the server, or the local address, the
    /// interface or the route of the connection no longer exists.
    public static let pathLost = Kind(name: "pathLost", description: "the path to the server was lost")
    /// The task has waited for a path without success, or its options exclude the present path: see
    /// ``HTTPTaskOptions/requiredMedia`` and ``HTTPTaskOptions/allowsExpensivePath``.
    public static let notReachable = Kind(name: "notReachable", description: "not reachable")
    /// TLS failed for a reason other than a certificate. ``HTTPError/tlsFailure`` has the reason, if it is known.
    public static let secureConnectionFailed = Kind(
      name: "secureConnectionFailed", description: "no secure connection")
    /// The certificate or its chain is not valid, is for another name, or matches none of the pins. Nothing of the request was
    /// sent.
    public static let serverCertificateUntrusted = Kind(
      name: "serverCertificateUntrusted", description: "the server's certificate is not trusted")
    /// The server requires a client certificate, and ``HTTPSessionConfiguration/clientCertificates`` has none for the host.
    public static let clientCertificateRequired = Kind(
      name: "clientCertificateRequired", description: "the server requires a client certificate")
    /// The server has rejected the client certificate of the session.
    public static let clientCertificateRejected = Kind(
      name: "clientCertificateRejected", description: "the server rejected the client certificate")
    /// The server has sent more redirects than ``HTTPTaskOptions/maximumRedirects``.
    public static let tooManyRedirects = Kind(name: "tooManyRedirects", description: "too many redirects")
    /// The status of the response is not an accepted one.
    public static let badServerResponse = Kind(name: "badServerResponse", description: "unacceptable response")
    /// The body has a type that is not accepted, or cannot be decoded, or its compressed data is damaged or incomplete.
    public static let cannotDecodeContentData = Kind(
      name: "cannotDecodeContentData", description: "the body cannot be decoded")
    /// The body is larger than ``HTTPTaskOptions/maximumResponseBytes`` or ``HTTPTaskOptions/maximumBytesInMemory``, or the head is
    /// larger than ``HTTPTaskOptions/maximumHeadBytes``, for which ``HTTPError/reason`` is `headTooLong`.
    public static let responseTooLarge = Kind(name: "responseTooLarge", description: "the response is too large")
    /// The parameters or the body cannot be put into a request. In most cases nothing was sent, but this can also be a body
    /// that ended too early.
    public static let cannotEncodeRequest = Kind(
      name: "cannotEncodeRequest", description: "the request cannot be encoded")
    /// The URL of a request or of a redirect cannot be used, for example because it is not http or https, or has no valid host.
    public static let badURL = Kind(name: "badURL", description: "not a URL for a request")
    /// A file cannot be read or written.
    public static let fileFailed = Kind(name: "fileFailed", description: "a file failed")
    /// The security policy cannot be used as it is.
    public static let badSecurityPolicy = Kind(name: "badSecurityPolicy", description: "unusable security policy")
    /// There is no token to authenticate with, because it could not be refreshed.
    public static let notAuthenticated = Kind(name: "notAuthenticated", description: "not authenticated")
    /// A ``RecordedTransport`` has no answer to the request.
    public static let notRecorded = Kind(name: "notRecorded", description: "not recorded")
    /// The session or the task cannot be made with its configuration. The message names the change to make.
    public static let badConfiguration = Kind(name: "badConfiguration", description: "unusable configuration")
    /// A request of a background session that must not be repeated was on its way when its process ended. Nobody knows whether the
    /// server has acted on it.
    public static let outcomeUnknown = Kind(
      name: "outcomeUnknown", description: "nobody knows whether the server has acted")
    /// Any other failure, such as one of a library or of the system.
    public static let other = Kind(name: "other", description: "failed")
  }

  /// What has gone wrong with a connection or a response, for failures whose ``kind`` does not tell. Later versions may add reasons.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// The name of the reason as code writes it, such as `headTooLong`: for logs, metrics and other programs.
    public let name: String
    /// The reason in a few words of English, such as `the head is too long`.
    public let description: String

    /// The other side has ended the connection at once (RST of TCP), or the stream of the request (RST_STREAM of HTTP/2).
    public static let reset = Reason(name: "reset", description: "the connection was reset")
    /// The other side has ended the connection in order, before the response was complete.
    public static let closed = Reason(name: "closed", description: "the connection was closed")
    /// The server is leaving an HTTP/2 connection (GOAWAY; RFC 9113, section 6.8), and has not processed the request.
    public static let goneAway = Reason(name: "goneAway", description: "the server is leaving the connection")
    /// The bytes are no HTTP response.
    public static let notHTTP = Reason(name: "notHTTP", description: "the answer is not HTTP")
    /// It cannot be known where the body ends: its length or its chunks are not valid (RFC 9112, section 6.3), or HTTP/2 frames
    /// are not.
    public static let badFraming = Reason(name: "badFraming", description: "the end of the body is not known")
    /// A body without a length ended with its TLS connection, but without the alert `close_notify`. A part of it may be missing
    /// (RFC 9112, section 9.8): see ``HTTPTaskOptions/acceptsMissingCloseNotify``.
    public static let truncated = Reason(name: "truncated", description: "the body may be incomplete")
    /// The head is larger than ``HTTPTaskOptions/maximumHeadBytes``, has more than 2,000 fields, or has a line of more than 100
    /// KiB, which libcurl does not read.
    public static let headTooLong = Reason(name: "headTooLong", description: "the head is too long")
    /// This process, or the system, has no file descriptor left for a connection.
    public static let noDescriptors = Reason(name: "noDescriptors", description: "no file descriptor is left")
  }

  /// The library or the standard that defines a ``code``.
  public struct Domain: Hashable, Sendable, CustomStringConvertible {
    /// The name of the domain, such as `libcurl`.
    public let description: String

    /// A `CURLcode` of libcurl.
    public static let libcurl = Domain(description: "libcurl")
    /// A `CURLMcode` of libcurl's multi interface.
    public static let libcurlMulti = Domain(description: "libcurl multi")
    /// An `errno` of the system.
    public static let system = Domain(description: "system")
    /// A result of zlib.
    public static let zlib = Domain(description: "zlib")
    /// A status code of HTTP.
    public static let http = Domain(description: "HTTP")
  }

  /// The kind of the failure.
  public var kind: Kind { facts.kind }
  /// What has gone wrong, more exactly than ``kind``. Nil if nothing more is known.
  public var reason: Reason? { facts.reason }
  /// The call that failed, or the work that was being done.
  public var operation: String { facts.operation }
  /// The error number, which ``domain`` defines, or the status of the response for `badServerResponse`. 0 if there is none.
  public var code: CInt { facts.code }
  /// Whose number ``code`` is. Nil if there is none, or if it is not known.
  public var domain: Domain? { facts.domain }
  /// The details: the text of the library or of the system for ``code``, or words of this module. Empty if there are none.
  public var message: String { facts.message }
  /// The request of the task, with its last redirect. Nil for a failure that belongs to no request, or to none yet.
  public var request: HTTPRequest? {
    get { facts.request }
    set { facts.request = newValue }
  }
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
    let domain: Domain?
    let reason: Reason?
    let message: String
    var request: HTTPRequest?
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
  ///   - domain: Whose number the code is. Default: nil, not known.
  ///   - reason: What has gone wrong, more exactly than the kind. Default: nil, nothing more is known.
  ///   - message: The details. Default: empty.
  ///   - underlying: The error that caused this one. Default: nil.
  public init(
    _ kind: Kind, _ operation: String, code: CInt = 0, domain: Domain? = nil, reason: Reason? = nil,
    message: String = "", underlying: (any Error)? = nil
  ) {
    storage = .facts(
      Facts(
        kind: kind, operation: operation, code: code, domain: domain, reason: reason, message: message,
        underlying: underlying))
  }

  /// The failure in one line, for logs: the method and the URL of the request, the kind, the operation, the message and the
  /// underlying error, each one once. The query, the user and the password of the URL are left out.
  public var description: String {
    let detail = message.isEmpty ? "" : ": \(message)"
    let text = "\(kind) (\(operation)\(detail))\(beneath)"
    return request.map { "\($0.title): \(text)" } ?? text
  }

  /// The underlying error in parentheses. Empty if there is none, or if the message contains it.
  private var beneath: String {
    guard var underlying else { return "" }
    if var error = underlying as? HTTPError {
      error.request = nil
      underlying = error
    }
    let text = "\(underlying)"
    return message.contains(text) ? "" : " (\(text))"
  }
}

extension HTTPError: LocalizedError {
  /// The failure for people, such as `The host was not found: example.org.` In English.
  public var errorDescription: String? {
    let words = kind.description.prefix(1).uppercased() + kind.description.dropFirst()
    return message.isEmpty ? "\(words)." : "\(words): \(message)."
  }
}

extension HTTPError {
  /// Creates an error from `errno`, for a file call that has just failed.
  init(file path: String, _ operation: String) {
    let code = errno
    self.init(
      .fileFailed, "\(operation) \(path)", code: code, domain: .system, message: unsafe String(cString: strerror(code)))
  }
}

extension HTTPError {
  /// The error of a response that is over before it has begun.
  static var noHead: HTTPError {
    HTTPError(.connectionLost, "response", reason: .notHTTP, message: "the server has sent no head")
  }

  /// Creates the error of a request whose path is lost.
  ///
  /// - Parameters:
  ///   - peers: The addresses of the server, or of its proxy, that were tried.
  ///   - failure: The error of the attempt; nil if there is none.
  static func lossOfPath(to peers: [InternetAddress], _ failure: HTTPError?) -> HTTPError {
    let peers = peers.map(\.description).joined(separator: ", ")
    return HTTPError(
      .pathLost, "request", code: failure?.code ?? 0, domain: failure?.domain,
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
