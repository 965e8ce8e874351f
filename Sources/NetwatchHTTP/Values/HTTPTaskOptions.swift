import HTTPTypes
import Netwatch

/// Options of a task. Those of a call are merged with those of the session: an option that the call sets is the call's, every
/// other one is the session's.
///
/// ```swift
/// let user: User = try await api.get("users/1", options: .with { $0.timeout = .seconds(5) })
/// ```
public struct HTTPTaskOptions: Sendable {
  /// The names of the options.
  private enum Name: UInt32 {
    case timeout, totalTimeout, maximumResponseBytes, maximumBytesInMemory, flushesFiles, isIndicated
    case maximumRedirects, onRedirect, credential, onChallenge, maximumChallenges
    case reachabilityTimeout, retriesWhenReachable, allowsRepetition, onProgress, progressInterval, executor
    case label, interceptors, maximumRetries, cachePolicy, onCaching
    case requiredMedia, allowsExpensivePath
  }

  /// The options that were set, as the bits of their names.
  private var named: UInt32 = 0

  /// Whether nothing was set.
  var isEmpty: Bool { named == 0 }

  private mutating func name(_ name: Name) { named |= 1 << name.rawValue }

  /// These options, with those in their place that `call` sets.
  func merged(with call: HTTPTaskOptions?) -> HTTPTaskOptions {
    guard let call, call.named != 0 else { return self }
    var merged = self
    var left = call.named
    while left != 0 {
      if let name = Name(rawValue: UInt32(left.trailingZeroBitCount)) { merged.take(name, from: call) }
      left &= left - 1
    }
    return merged
  }

  private mutating func take(_ name: Name, from call: HTTPTaskOptions) {
    switch name {
    case .timeout: timeout = call.timeout
    case .totalTimeout: totalTimeout = call.totalTimeout
    case .maximumResponseBytes: maximumResponseBytes = call.maximumResponseBytes
    case .maximumBytesInMemory: maximumBytesInMemory = call.maximumBytesInMemory
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

  /// How long the task may stand still before it fails with `timedOut`: neither side sends a byte. Default: 60 seconds. Nil
  /// means no limit, and so does anything above a hundred years.
  ///
  /// The time does not count while the task is suspended, while its answer waits for its reader, or while the request waits
  /// for one of the session's connections (``HTTPSessionConfiguration/maximumConnectionsPerHost``).
  public var timeout: Duration? = .seconds(60) { didSet { name(.timeout) } }
  /// The time for the whole task, redirects and waiting included. Default: nil, no limit.
  public var totalTimeout: Duration? { didSet { name(.totalTimeout) } }
  /// A longer body, without its content encoding, fails with `responseTooLarge`. Default nil: no limit.
  public var maximumResponseBytes: Int64? { didSet { name(.maximumResponseBytes) } }
  /// The most bytes of a body that is kept in memory, without its content encoding: a longer one fails with
  /// `responseTooLarge`. Default: 64 MiB. A download to a file and a stream have no such limit.
  public var maximumBytesInMemory: Int64 = 64 * 1_024 * 1_024 { didSet { name(.maximumBytesInMemory) } }

  /// Whether the file of a download is written to its disk (`fsync`) before it gets its name, so that it is whole after a loss of
  /// power as well. Default false. The session's other tasks wait for the disk meanwhile.
  public var flushesFiles = false { didSet { name(.flushesFiles) } }

  /// Whether the request lights the activity indicator. Default true; false for a long poll.
  public var isIndicated = true { didSet { name(.isIndicated) } }

  /// Redirects that are followed. Default 10; with 0 the redirect itself is the response.
  public var maximumRedirects = 10 { didSet { name(.maximumRedirects) } }
  /// Asked before each redirect is followed. What it returns is sent next; nil makes the redirect the response.
  ///
  /// Default nil: all are followed. Headers that it adds are sent, wherever they go.
  public var onRedirect: (@Sendable (HTTPRedirect) async -> HTTPRequest?)? { didSet { name(.onRedirect) } }

  /// Sent to the origin (scheme, host and port) of the request alone. If it is the session's, in the configuration's
  /// ``HTTPSessionConfiguration/taskOptions``, it is sent to the origin of the session's base URL and to
  /// ``HTTPSessionConfiguration/credentialOrigins``, and to no other one.
  public var credential: HTTPCredential? { didSet { name(.credential) } }
  /// Asked when a server does not know, or refuses, who asks. Nil makes its answer the response.
  ///
  /// After a redirect, that is another server: see ``HTTPChallenge/request``. What is returned goes to the origin that has
  /// asked, and to no other one.
  public var onChallenge: (@Sendable (HTTPChallenge) async -> HTTPCredential?)? { didSet { name(.onChallenge) } }
  /// How many credentials ``onChallenge`` is asked for, for each origin. Then the refusal is the response. Default 3.
  public var maximumChallenges = 3 { didSet { name(.maximumChallenges) } }

  /// How long the task waits for a path to the network before it begins; then it fails with `notReachable`. Default nil: it
  /// does not wait. Only if the session knows a ``PathSource``.
  ///
  /// What counts is the path to the server, or to its proxy: a server on the local network needs no path to the internet.
  public var reachabilityTimeout: Duration? { didSet { name(.reachabilityTimeout) } }
  /// Whether a request that has lost its path is made again once there is a path to the server. Default false: it fails with
  /// `pathLost`.
  ///
  /// Not after the beginning of a response, nor for a body that cannot be made again. A request that may have reached the
  /// server is made again only if its method is idempotent (RFC 9110, section 9.2.2), or if ``allowsRepetition`` says so. It
  /// waits for as long as ``reachabilityTimeout``, or a minute. A resumable download goes on where it was.
  public var retriesWhenReachable = false { didSet { name(.retriesWhenReachable) } }
  /// Whether the request may be sent twice although its method, such as POST, is not idempotent: because the server recognizes
  /// a repetition. Default false: if its connection ends before an answer, the task fails with `connectionLost` or `pathLost`.
  public var allowsRepetition = false { didSet { name(.allowsRepetition) } }

  /// What the path has to go over for the task to use it, such as `[.wifi, .wired]`. Default: nil, anything.
  ///
  /// It is looked at before each attempt, also if the server is on the local network. While the path is another one, or if it is not known what it goes over, the task
  /// waits for as long as ``reachabilityTimeout``, and then fails with `notReachable`; without a timeout it fails at once. An
  /// attempt that runs is not broken off. A session without a ``PathSource`` fails the task with `badConfiguration`, because it
  /// cannot know.
  public var requiredMedia: Set<Medium>? { didSet { name(.requiredMedia) } }
  /// Whether the task may use a path that may cost money: over a modem, Bluetooth or a phone on USB. Default: true. If false,
  /// it waits or fails like one with ``requiredMedia``.
  public var allowsExpensivePath = true { didSet { name(.allowsExpensivePath) } }
  /// Whether the task cannot use every path.
  var restrictsPath: Bool { requiredMedia != nil || !allowsExpensivePath }
  /// Whether the task looks for a path before it begins.
  var waitsForPath: Bool { reachabilityTimeout != nil || restrictsPath }

  /// Change the task's requests, and decide whether they are tried again, before those of
  /// ``HTTPSessionConfiguration/interceptors`` do. Default: none.
  public var interceptors: [any RequestInterceptor] = [] { didSet { name(.interceptors) } }
  /// The most attempts that interceptors may add to the first one. Default: 10. With 0, interceptors only change requests.
  public var maximumRetries = 10 { didSet { name(.maximumRetries) } }

  /// Whether the session's cache may answer, and when the server is asked. Default: `standard`, as HTTP says. Only for a session
  /// with a ``HTTPSessionConfiguration/cache``.
  ///
  /// With `requiresCache`, the server is never asked, whatever the method is: what the cache does not have gets the status 504.
  /// A task with a ``reachabilityTimeout`` waits for a path if the cache has no answer to use. If it has interceptors, it waits
  /// before they are asked, and so before it looks into the cache.
  public var cachePolicy = HTTPCachePolicy.standard { didSet { name(.cachePolicy) } }
  /// Asked before the session's cache stores the answer to a GET. What it returns is stored, with the body; nil stores
  /// nothing. Default nil: all is stored that HTTP allows. It runs on the session's thread, so it must return at once.
  ///
  /// The response may be returned with other fields, such as a `Cache-Control` for a server that sends none. Whether it may be
  /// stored, and for how long it is fresh, is decided by what is returned. The caller of the task gets what the server has
  /// sent. When the server validates a stored answer (304), the question is asked again, for the response with its new fields.
  public var onCaching: (@Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> HTTPResponse?)? {
    didSet { name(.onCaching) }
  }

  /// What people call the task, in lists and in events. Default: nil.
  public var label: String? { didSet { name(.label) } }

  /// Called as bytes are sent and received, with the newest figures, at most once in each ``progressInterval`` and at the end.
  ///
  /// The last call comes before the completion, before an awaited call returns and before a stream ends. While one call runs,
  /// at most one more waits, with the newest figures.
  public var onProgress: (@Sendable (HTTPProgress) -> Void)? { didSet { name(.onProgress) } }
  /// The shortest time between two calls of ``onProgress``, apart from the last call. Default: 50 milliseconds.
  public var progressInterval: Duration = .milliseconds(50) { didSet { name(.progressInterval) } }
  /// Where ``onProgress`` and completions run, one at a time and in order. Default: on Swift's shared threads.
  public var executor = HTTPExecutor.shared { didSet { name(.executor) } }

  /// Options that set nothing.
  public init() {}

  /// Options of which some are set: `.with { $0.timeout = .seconds(5) }`.
  public static func with(_ change: (inout HTTPTaskOptions) -> Void) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    change(&options)
    return options
  }
}
