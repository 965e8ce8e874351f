#if Logging
  import HTTPTypes
  import Logging

  /// Writes a line for each task that ends, for each that waits for the network, and for each attempt that is made again.
  ///
  /// ```swift
  /// configuration.eventObservers = [HTTPLogObserver(Logger(label: "api"))]
  /// ```
  ///
  /// A URL's query and the header fields are left out: they may hold what a log's readers should not have. The levels: `debug` for
  /// a success, `notice` for a wait, another attempt, and a status of 400 and above, `error` for a failure. The package trait `Logging`
  /// provides it.
  public struct HTTPLogObserver: HTTPEventObserver {
    private let logger: Logger

    /// Creates an observer for ``HTTPSessionConfiguration/eventObservers``.
    ///
    /// - Parameter logger: The logger that gets the lines.
    public init(_ logger: Logger) { self.logger = logger }

    /// Writes the line of an event.
    public func handle(_ event: HTTPEvent) {
      var metadata: Logger.Metadata = [
        "http.request.method": "\(event.request.method.rawValue)",
        "server.address": "\(event.request.authority ?? "")",
        "url.path": "\(event.request.path?.prefix { $0 != "?" } ?? "/")",
      ]
      if let label = event.task.label { metadata["task"] = "\(label)" }
      switch event.kind {
      case .waiting: logger.notice("a request waits for the network", metadata: metadata)
      case .retrying(let delay, let error):
        metadata["delay"] = "\(delay)"
        if let error { metadata["error.type"] = .string(error.kind.name) }
        logger.notice("a request is tried again", metadata: metadata)
      case .finished(let result, let figures, _):
        metadata["duration"] = "\(figures.total)"
        metadata["http.request.resend_count"] = "\(figures.furtherAttempts)"
        switch result {
        case .success(let response):
          metadata["http.response.status_code"] = "\(response.status.code)"
          logger.log(level: response.status.code < 400 ? .debug : .notice, "a request has ended", metadata: metadata)
        case .failure(let error):
          metadata["error.type"] = .string(error.kind.name)
          logger.error("a request has failed", metadata: metadata)
        }
      default: break
      }
    }
  }
#endif
