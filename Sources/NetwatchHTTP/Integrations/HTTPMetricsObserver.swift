#if Metrics
  import HTTPTypes
  import Metrics
  import Synchronization

  /// Counts the tasks of a session, and times the last attempt of each.
  ///
  /// ```swift
  /// configuration.eventObservers = [HTTPMetricsObserver()]
  /// ```
  ///
  /// The names are those of OpenTelemetry's conventions for HTTP clients, with `_`: `http_client_request_duration` and
  /// `http_client_response_body_size` with method, host, and status or error; `http_client_request_resends`; and
  /// `http_client_active_requests`, the tasks that are not over. The package trait `Metrics` provides it.
  public final class HTTPMetricsObserver: HTTPEventObserver {
    private let factory: any MetricsFactory
    private let active = Mutex(0)
    private let activeRequests: Meter
    private let resends: Counter

    /// Creates an observer for ``HTTPSessionConfiguration/eventObservers``.
    ///
    /// - Parameter factory: The factory that makes the metrics. Default: that of the process.
    public init(factory: any MetricsFactory = MetricsSystem.factory) {
      self.factory = factory
      activeRequests = Meter(label: "http_client_active_requests", factory: factory)
      resends = Counter(label: "http_client_request_resends", factory: factory)
    }

    /// Counts an event.
    public func handle(_ event: HTTPEvent) {
      switch event.kind {
      case .created: count(1)
      case .finished(let result, let figures, _):
        count(-1)
        if figures.furtherAttempts > 0 { resends.increment(by: figures.furtherAttempts) }
        let end =
          switch result {
          case .success(let response): ("http_response_status_code", "\(response.status.code)")
          case .failure(let error): ("error_type", error.kind.name)
          }
        let dimensions = [
          ("http_request_method", event.request.method.rawValue), ("server_address", event.request.authority ?? ""),
          end,
        ]
        Timer(label: "http_client_request_duration", dimensions: dimensions, factory: factory).record(
          duration: figures.total)
        Recorder(label: "http_client_response_body_size", dimensions: dimensions, factory: factory)
          .record(figures.bytesReceived)
      default: break
      }
    }

    private func count(_ change: Int) {
      active.withLock { active in
        active += change
        activeRequests.set(active)
      }
    }
  }
#endif
