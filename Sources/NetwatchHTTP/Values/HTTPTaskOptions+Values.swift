import HTTPTypes
import Netwatch

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
