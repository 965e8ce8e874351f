import HTTPTypes
import Netwatch

/// Options of a task. An option that a call sets takes effect; every other option comes from the session.
///
/// ```swift
/// let user: User = try await api.get("users/1", options: .with { $0.timeout = .seconds(5) })
/// ```
public struct HTTPTaskOptions: Sendable {
  /// The values, which copies share: they are large, and most tasks of a session have the same.
  private final class Storage: Sendable {
    let values: Values
    init(_ values: Values) { self.values = values }
  }

  private var storage: Storage

  private init(_ values: Values) { storage = Storage(values) }

  private static let none = Storage(Values())

  var values: Values { storage.values }

  /// Whether no option was set.
  var isEmpty: Bool { values.names == 0 }

  /// Returns these options, replaced by those that `call` sets.
  func merged(with call: HTTPTaskOptions?) -> HTTPTaskOptions {
    guard let call, !call.isEmpty else { return self }
    return isEmpty ? call : HTTPTaskOptions(values.merged(with: call.values))
  }

  private mutating func set(_ name: Name, _ change: (inout Values) -> Void) {
    var values = values
    change(&values)
    values.name(name)
    storage = Storage(values)
  }

  /// The longest time in which neither side sends a byte. After it, the task fails with `timedOut`. Default: 60 seconds. Nil,
  /// or more than a hundred years, means no limit.
  ///
  /// The time does not count while the task is suspended, while its response waits for its reader, or while the request waits
  /// for one of the session's connections (``HTTPSessionConfiguration/maximumConnectionsPerHost``).
  public var timeout: Duration? {
    get { values.timeout }
    set { set(.timeout) { $0.timeout = newValue } }
  }
  /// The longest time for the whole task, with all redirects, retries and delays. It begins when the task first has a path to its
  /// server; ``reachabilityTimeout`` limits the wait for that path. Default: nil, no limit.
  public var totalTimeout: Duration? {
    get { values.totalTimeout }
    set { set(.totalTimeout) { $0.totalTimeout = newValue } }
  }
  /// The largest body in bytes, counted after its content encoding is removed. A larger one fails with `responseTooLarge`.
  /// Default: nil, no limit.
  public var maximumResponseBytes: Int64? {
    get { values.maximumResponseBytes }
    set { set(.maximumResponseBytes) { $0.maximumResponseBytes = newValue } }
  }
  /// The largest body that is kept in memory, in bytes after its content encoding is removed. A larger one fails with
  /// `responseTooLarge`. Default: 64 MiB.
  ///
  /// A download to a file and a stream have no such limit.
  public var maximumBytesInMemory: Int64 {
    get { values.maximumBytesInMemory }
    set { set(.maximumBytesInMemory) { $0.maximumBytesInMemory = newValue } }
  }

  /// The largest head of a response in bytes, with its status line and those of the interim responses (1xx) before it, and the
  /// largest trailers. Larger ones fail with `responseTooLarge` and the reason `headTooLong`. Default: 262,144 (256 KiB).
  ///
  /// libcurl has limits of its own: 100 KiB for a line, and since version 8.3.0 300 KiB for all lines.
  public var maximumHeadBytes: Int {
    get { values.maximumHeadBytes }
    set { set(.maximumHeadBytes) { $0.maximumHeadBytes = newValue } }
  }
  /// Whether a body without a length and without chunks counts as whole when its TLS connection ends without the alert
  /// `close_notify`. Anybody on the way can end it like this, and a part of the body may be missing (RFC 9112, section 9.8).
  ///
  /// Default: false, such a task fails with `connectionLost` and the reason `truncated`. Set it for a server that never sends the
  /// alert. A download to a file always fails.
  public var acceptsMissingCloseNotify: Bool {
    get { values.acceptsMissingCloseNotify }
    set { set(.acceptsMissingCloseNotify) { $0.acceptsMissingCloseNotify = newValue } }
  }

  /// Whether a downloaded file is flushed to its disk (`fsync`) before it gets its name, so that it is also complete after a
  /// power failure. Default: false. The session's other tasks wait for the disk meanwhile.
  public var flushesFiles: Bool {
    get { values.flushesFiles }
    set { set(.flushesFiles) { $0.flushesFiles = newValue } }
  }

  /// Whether the request turns on the activity indicator. Default: true. Use false for a long poll.
  public var isIndicated: Bool {
    get { values.isIndicated }
    set { set(.isIndicated) { $0.isIndicated = newValue } }
  }

  /// The most redirects that are followed. Default: 10. If it is 0, the redirect itself is the response.
  public var maximumRedirects: Int {
    get { values.maximumRedirects }
    set { set(.maximumRedirects) { $0.maximumRedirects = newValue } }
  }
  /// A closure that is called before each redirect is followed. The request that it returns is sent next. If it returns nil,
  /// the redirect is the response.
  ///
  /// Default: nil, all redirects are followed. Header fields that the closure adds are sent to any host.
  public var onRedirect: (@Sendable (HTTPRedirect) async -> HTTPRequest?)? {
    get { values.onRedirect }
    set { set(.onRedirect) { $0.onRedirect = newValue } }
  }

  /// The credential for the origin (scheme, host and port) of the request. It is sent to no other origin. Default: nil.
  ///
  /// If it is set for a session (``HTTPSessionConfiguration/taskOptions``), it is sent only to the origin of the session's base
  /// URL (or, without a base URL, of the task's URL) and to ``HTTPSessionConfiguration/credentialOrigins``.
  public var credential: HTTPCredential? {
    get { values.credential }
    set { set(.credential) { $0.credential = newValue } }
  }
  /// A closure that returns a credential when a server requires authentication, or refuses a credential. If it returns nil, the
  /// server's refusal is the response. If it throws, the task fails: with the error if it
  /// is an ``HTTPError``, otherwise with `notAuthenticated`. Default: nil.
  ///
  /// To reject a scheme that the server offers, give the credential another one: with `digest`, no password is sent in the clear.
  ///
  /// After a redirect, the server may be another one: see ``HTTPChallenge/request``. The credential is only sent to the origin
  /// that has asked for it.
  public var onChallenge: (@Sendable (HTTPChallenge) async throws -> HTTPCredential?)? {
    get { values.onChallenge }
    set { set(.onChallenge) { $0.onChallenge = newValue } }
  }
  /// The most times that ``onChallenge`` is called for each origin. After them, the server's refusal is the response. Default:
  /// 3.
  public var maximumChallenges: Int {
    get { values.maximumChallenges }
    set { set(.maximumChallenges) { $0.maximumChallenges = newValue } }
  }

  /// The time to wait for a path to the network before the task begins. After it, the task fails with `notReachable`. It only
  /// works if the session has a ``PathSource``.
  ///
  /// Default: nil. The task then begins without looking for a path, and fails if it turns out to have none. If the network has just
  /// changed, it does not fail until ``HTTPSessionConfiguration/pathLossGrace`` has passed, and continues if a path comes before.
  ///
  /// The path to the server, or to its proxy, counts: a server on the local network needs no path to the internet.
  public var reachabilityTimeout: Duration? {
    get { values.reachabilityTimeout }
    set { set(.reachabilityTimeout) { $0.reachabilityTimeout = newValue } }
  }
  /// Whether a request that has lost its path is sent again when there is a path to the server. Default: false, and the request
  /// fails with `pathLost`.
  ///
  /// With false, a request that has no connection yet and finds no path still waits: for ``reachabilityTimeout`` if that is set,
  /// otherwise, if the network has just changed, for ``HTTPSessionConfiguration/pathLossGrace``.
  ///
  /// A request is not sent again once a response has begun, or if its body cannot be made again. A request that may have
  /// reached the server is only sent again if its method is idempotent (RFC 9110, section 9.2.2) or ``allowsRepetition`` is
  /// set. A resumable download continues where it stopped.
  ///
  /// A request that is sent again waits for a path for at most ``reachabilityTimeout``, or one minute if that is nil.
  public var retriesWhenReachable: Bool {
    get { values.retriesWhenReachable }
    set { set(.retriesWhenReachable) { $0.retriesWhenReachable = newValue } }
  }
  /// Whether the request may be sent twice although its method, such as POST, is not idempotent. Set it if the server
  /// recognizes a repetition.
  ///
  /// Default: false. If the connection ends before a response, and the server may have acted on such a request, the task fails
  /// with `connectionLost` or `pathLost`.
  public var allowsRepetition: Bool {
    get { values.allowsRepetition }
    set { set(.allowsRepetition) { $0.allowsRepetition = newValue } }
  }

  /// The media that the path must use, such as `[.wifi, .wired]`. Default: nil, any medium.
  ///
  /// The path is checked before each attempt, also for a server on the local network. If the medium is another one or not
  /// known, the task waits for ``reachabilityTimeout`` and then fails with `notReachable`. If that is nil, it waits one
  /// minute if ``retriesWhenReachable`` is set. Otherwise it waits up to ``HTTPSessionConfiguration/pathLossGrace`` if the
  /// network has just changed, and else fails at once. An attempt that is running is not interrupted. In a session without a
  /// ``PathSource``, the task fails with `badConfiguration`.
  public var requiredMedia: Set<Medium>? {
    get { values.requiredMedia }
    set { set(.requiredMedia) { $0.requiredMedia = newValue } }
  }
  /// Whether the task may use a path that may cost money: over a modem, Bluetooth, a phone on USB or a metered WiFi network.
  /// Default: true. If it is false, the task waits or fails as with ``requiredMedia``.
  public var allowsExpensivePath: Bool {
    get { values.allowsExpensivePath }
    set { set(.allowsExpensivePath) { $0.allowsExpensivePath = newValue } }
  }
  /// Whether the options exclude some paths.
  var restrictsPath: Bool { requiredMedia != nil || !allowsExpensivePath }
  /// Whether the task checks for a path before it begins.
  var waitsForPath: Bool { reachabilityTimeout != nil || restrictsPath }

  /// The interceptors of the task. They run before those of ``HTTPSessionConfiguration/interceptors``. They change the task's
  /// requests, and decide whether failed ones are tried again. Default: none.
  public var interceptors: [any RequestInterceptor] {
    get { values.interceptors }
    set { set(.interceptors) { $0.interceptors = newValue } }
  }
  /// The most attempts that interceptors may add to the first one. Default: 10. If it is 0, interceptors only change requests.
  public var maximumRetries: Int {
    get { values.maximumRetries }
    set { set(.maximumRetries) { $0.maximumRetries = newValue } }
  }

  /// Whether the session's cache may answer, and when the server is asked. Default: `standard`, the rules of HTTP. It only has
  /// an effect in a session with a ``HTTPSessionConfiguration/cache``.
  ///
  /// With `requiresCache`, the server is never asked, whatever the method is. A request without a stored response gets the
  /// status 504, without waiting for a path. With the other policies, a task with a ``reachabilityTimeout`` waits for a path if the
  /// cache has no usable response. If the task has interceptors, it waits before they run, and therefore before it looks into the
  /// cache.
  public var cachePolicy: HTTPCachePolicy {
    get { values.cachePolicy }
    set { set(.cachePolicy) { $0.cachePolicy = newValue } }
  }
  /// A closure that is called before the session's cache stores the response to a GET. The response that it returns is stored,
  /// with the body. If it returns nil, nothing is stored.
  ///
  /// Default: nil, everything is stored that HTTP allows. The closure runs on the session's thread, so it must return at once.
  ///
  /// The closure can change the fields of the response, such as add a `Cache-Control` if the server sends none. The returned
  /// fields decide whether the response is stored and how long it is fresh. The caller still gets the response that the server
  /// has sent. When the server validates a stored response (304), the closure is called again for the response with its new
  /// fields.
  public var onCaching: (@Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> HTTPResponse?)? {
    get { values.onCaching }
    set { set(.onCaching) { $0.onCaching = newValue } }
  }

  /// A name of the task for people, shown in lists and in events. Default: nil.
  public var label: String? {
    get { values.label }
    set { set(.label) { $0.label = newValue } }
  }

  /// A closure that is called with the newest figures as bytes are sent and received: at most once in each
  /// ``progressInterval``, and at the end. Default: nil.
  ///
  /// The last call comes before the completion, before an awaited call returns, and before a stream ends. While one call runs,
  /// at most one more waits, with the newest figures.
  public var onProgress: (@Sendable (HTTPProgress) -> Void)? {
    get { values.onProgress }
    set { set(.onProgress) { $0.onProgress = newValue } }
  }
  /// The shortest time between two calls of ``onProgress``, except for the last call. Default: 50 milliseconds.
  public var progressInterval: Duration {
    get { values.progressInterval }
    set { set(.progressInterval) { $0.progressInterval = newValue } }
  }
  /// The executor that runs ``onProgress`` and completions, one at a time and in order. Default: Swift's shared threads.
  public var executor: HTTPExecutor {
    get { values.executor }
    set { set(.executor) { $0.executor = newValue } }
  }

  /// Creates options that set nothing.
  public init() { storage = Self.none }

  /// Returns options in which only what the closure changes is set: `.with { $0.timeout = .seconds(5) }`.
  public static func with(_ change: (inout HTTPTaskOptions) -> Void) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    change(&options)
    return options
  }
}

extension HTTPTaskOptions {
  /// The names of the options.
  enum Name: UInt32 {
    case timeout, totalTimeout, maximumResponseBytes, maximumBytesInMemory, flushesFiles, isIndicated
    case maximumRedirects, onRedirect, credential, onChallenge, maximumChallenges
    case reachabilityTimeout, retriesWhenReachable, allowsRepetition, onProgress, progressInterval, executor
    case label, interceptors, maximumRetries, cachePolicy, onCaching
    case requiredMedia, allowsExpensivePath, maximumHeadBytes, acceptsMissingCloseNotify
  }

  /// The values of the options, with their defaults.
  struct Values: Sendable {
    /// The options that were set, one bit for each name.
    private(set) var names: UInt32 = 0
    var timeout: Duration? = .seconds(60)
    var totalTimeout: Duration?
    var maximumResponseBytes: Int64?
    var maximumBytesInMemory: Int64 = 64 * 1_024 * 1_024
    var maximumHeadBytes = 256 * 1_024
    var acceptsMissingCloseNotify = false
    var flushesFiles = false
    var isIndicated = true
    var maximumRedirects = 10
    var onRedirect: (@Sendable (HTTPRedirect) async -> HTTPRequest?)?
    var credential: HTTPCredential?
    var onChallenge: (@Sendable (HTTPChallenge) async throws -> HTTPCredential?)?
    var maximumChallenges = 3
    var reachabilityTimeout: Duration?
    var retriesWhenReachable = false
    var allowsRepetition = false
    var requiredMedia: Set<Medium>?
    var allowsExpensivePath = true
    var interceptors: [any RequestInterceptor] = []
    var maximumRetries = 10
    var cachePolicy = HTTPCachePolicy.standard
    var onCaching: (@Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> HTTPResponse?)?
    var label: String?
    var onProgress: (@Sendable (HTTPProgress) -> Void)?
    var progressInterval: Duration = .milliseconds(50)
    var executor = HTTPExecutor.shared

    mutating func name(_ name: Name) { names |= 1 << name.rawValue }

    /// Returns these values, replaced by those that `call` has names of.
    func merged(with call: Values) -> Values {
      var merged = self
      merged.names |= call.names
      var left = call.names
      while left != 0 {
        if let name = Name(rawValue: UInt32(left.trailingZeroBitCount)) { merged.take(name, from: call) }
        left &= left - 1
      }
      return merged
    }

    private mutating func take(_ name: Name, from call: Values) {
      switch name {
      case .timeout: timeout = call.timeout
      case .totalTimeout: totalTimeout = call.totalTimeout
      case .maximumResponseBytes: maximumResponseBytes = call.maximumResponseBytes
      case .maximumBytesInMemory: maximumBytesInMemory = call.maximumBytesInMemory
      case .maximumHeadBytes: maximumHeadBytes = call.maximumHeadBytes
      case .acceptsMissingCloseNotify: acceptsMissingCloseNotify = call.acceptsMissingCloseNotify
      case .flushesFiles: flushesFiles = call.flushesFiles
      case .isIndicated: isIndicated = call.isIndicated
      case .maximumRedirects: maximumRedirects = call.maximumRedirects
      case .onRedirect: onRedirect = call.onRedirect
      case .credential: credential = call.credential
      case .onChallenge: onChallenge = call.onChallenge
      case .maximumChallenges: maximumChallenges = call.maximumChallenges
      case .reachabilityTimeout: reachabilityTimeout = call.reachabilityTimeout
      case .retriesWhenReachable: retriesWhenReachable = call.retriesWhenReachable
      case .allowsRepetition: allowsRepetition = call.allowsRepetition
      case .onProgress: onProgress = call.onProgress
      case .progressInterval: progressInterval = call.progressInterval
      case .executor: executor = call.executor
      case .label: label = call.label
      case .interceptors: interceptors = call.interceptors
      case .maximumRetries: maximumRetries = call.maximumRetries
      case .cachePolicy: cachePolicy = call.cachePolicy
      case .onCaching: onCaching = call.onCaching
      case .requiredMedia: requiredMedia = call.requiredMedia
      case .allowsExpensivePath: allowsExpensivePath = call.allowsExpensivePath
      }
    }
  }
}

/// The kind of traffic of a session's connections, for the kernel's queues (SO_PRIORITY of socket(7)) and for the networks that heed the
/// mark in each packet (DSCP, RFC 2474). The marks are those of RFC 4594 and RFC 8622.
///
/// Most of the internet ignores the marks; home routers, WiFi and company networks often do not.
public struct HTTPServiceType: Hashable, Sendable {
  /// The mark of the packets, from 0 to 63.
  let dscp: CInt
  /// The band of the kernel's default queue: 0 for usual traffic, 1 to 6 as in TC_PRIO_*.
  let priority: CInt

  /// Usual traffic.
  public static let standard = HTTPServiceType(dscp: 0, priority: 0)
  /// Traffic for which nobody waits, such as a backup: the lower-effort class (LE).
  public static let background = HTTPServiceType(dscp: 1, priority: 1)
  /// Answers that somebody waits for: low-latency data (AF21).
  public static let responsiveData = HTTPServiceType(dscp: 18, priority: 4)
  /// Video and sound that are buffered: multimedia streaming (AF31).
  public static let video = HTTPServiceType(dscp: 26, priority: 4)
  /// Conversations with a picture: multimedia conferencing (AF41).
  public static let responsiveVideo = HTTPServiceType(dscp: 34, priority: 6)
  /// Speech: telephony (EF).
  public static let voice = HTTPServiceType(dscp: 46, priority: 6)
  /// The begin and the end of calls: signaling (CS5).
  public static let callSignaling = HTTPServiceType(dscp: 40, priority: 6)
}

/// Whether a session's cache may answer a request, and when the server is asked.
///
/// `no-store`, `no-cache`, `max-age` and `only-if-cached` in the request's own `Cache-Control` are obeyed under every policy.
/// `max-stale` and `min-fresh` count only under ``standard``.
public enum HTTPCachePolicy: Hashable, Sendable {
  /// The rules of HTTP (RFC 9111): a fresh response is used. For a stale response, the server is asked whether it may still be
  /// used.
  case standard
  /// The server is asked for the whole response. URLSession calls this `reloadIgnoringLocalCacheData`.
  case ignoresCache
  /// As ``ignoresCache``, and the caches on the way must ask the server as well: `Cache-Control: no-cache`, and `Pragma: no-cache` for
  /// those of HTTP/1.0, unless the request has a `Cache-Control` of its own. It also works in a session without a cache. URLSession calls
  /// this `reloadIgnoringLocalAndRemoteCacheData`.
  case ignoresAllCaches
  /// A response from the cache is used, however old it is. The server is asked only if there is none. URLSession calls this
  /// `returnCacheDataElseLoad`.
  case prefersCache
  /// A response from the cache is used, however old it is, and the server is never asked. If there is none, the status is 504
  /// (Gateway Timeout). URLSession calls this `returnCacheDataDontLoad`.
  case requiresCache
  /// The server is always asked whether the response in the cache may still be used. URLSession calls this
  /// `reloadRevalidatingCacheData`.
  case revalidates
}

extension HTTPCachePolicy {
  /// Whether a stored response is neither used nor validated.
  var ignoresStored: Bool { self == .ignoresCache || self == .ignoresAllCaches }
}

/// The progress of a task in bytes of its bodies, or of an ``HTTPProgressTree`` in bytes of all bodies.
public struct HTTPProgress: Hashable, Sendable {
  /// The bytes of the request body that were sent.
  public internal(set) var sent: Int64 = 0
  /// The length of the request body. Nil if it is not known.
  public internal(set) var totalToSend: Int64?
  /// The bytes of the response body that were received, counted after its content encoding is removed.
  public internal(set) var received: Int64 = 0
  /// The length of the response body. Nil if it is not known before the end, because the body is compressed or comes in chunks.
  public internal(set) var totalToReceive: Int64?
  /// The fraction of a tree, which weighs tasks and does not count bytes. Nil for a task.
  var weighted: Double?

  /// Creates the progress of a task that has not begun.
  public init() {}

  /// The fraction that is done, from 0 to 1. Nil as long as it is not known.
  ///
  /// For a task, it is the part of the bytes of both bodies that were sent and received. It is not known until one of the bodies
  /// has a length, and while a body without a length is sent or received. Before the head of the response arrives, only the body of
  /// the request counts. So the fraction falls when a response with a body begins, and also when a request is sent again.
  ///
  /// For an ``HTTPProgressTree``, it is the mean of the fractions of its tasks by their weights. A fraction that is not known
  /// counts as 0. The mean is 1 only if all tasks are over, and nil only if the tree has none.
  public var fraction: Double? {
    if let weighted { return weighted }
    guard totalToSend != nil || sent == 0, totalToReceive != nil || received == 0 else { return nil }
    let total = Double(totalToSend ?? 0) + Double(totalToReceive ?? 0)
    // A response without a body is complete with its head.
    guard total > 0 else { return totalToReceive == 0 ? 1 : nil }
    return min((Double(sent) + Double(received)) / total, 1)
  }
}

extension HTTPProgress: CustomStringConvertible {
  /// The progress in one line for people: `42 %, 13.2 MB of 31.0 MB received`, `1.2 kB sent`, or `no bytes yet`. The percentage
  /// is rounded down, and left out if ``fraction`` is nil.
  public var description: String {
    func amount(_ done: Int64, _ total: Int64?, _ verb: String) -> String? {
      guard done > 0 || total ?? 0 > 0 else { return nil }
      return "\(done.asBytes)\(total.map { " of \($0.asBytes)" } ?? "") \(verb)"
    }
    let percent = fraction.map { "\(Int($0 * 100)) %" }
    let amounts = [amount(sent, totalToSend, "sent"), amount(received, totalToReceive, "received")]
    let parts = [percent] + amounts
    return parts.allSatisfy { $0 == nil } ? "no bytes yet" : parts.compactMap(\.self).joined(separator: ", ")
  }
}

/// A response that redirects a request to another URL.
public struct HTTPRedirect: Sendable {
  /// The request that the server has redirected.
  public let request: HTTPRequest
  /// The head of the response with the redirect.
  public let response: HTTPResponse
  /// The request that would be sent next. If it goes to another scheme, host or port, it has no credentials, except those of the
  /// session if that origin is one of ``HTTPSessionConfiguration/credentialOrigins``.
  public let next: HTTPRequest
  /// The number of redirects that the task has already followed.
  public let count: Int
}
