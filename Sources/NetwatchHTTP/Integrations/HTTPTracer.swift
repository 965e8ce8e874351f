#if Tracing
  import HTTPTypes
  import Netwatch
  import Synchronization
  import Tracing

  /// Makes a span of each task, and sends its context along: `let tracer = HTTPTracer()`, then `configuration.eventObservers =
  /// [tracer]` and `configuration.interceptors = [tracer]`. A call with `$0.interceptors = [tracer.here]` is a child of the caller's
  /// span. The package trait `Tracing` provides it.
  public struct HTTPTracer: HTTPEventObserver, RequestInterceptor {
    /// The spans of the tasks that are not over. The value is nil until the task's span has begun.
    private final class Spans: Sendable { let open = Mutex<[RequestID: (any Span)?]>([:]) }
    private struct FieldInjector: Injector {
      func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        if let name = HTTPField.Name(key) { fields[name] = value }
      }
    }

    private let tracer: any Tracer
    private let spans = Spans()
    private var context = ServiceContext.topLevel

    /// Creates a tracer for ``HTTPSessionConfiguration/eventObservers`` and ``HTTPSessionConfiguration/interceptors``.
    ///
    /// - Parameter tracer: The tracer that gets the spans. Default: that of the process.
    public init(tracer: any Tracer = InstrumentationSystem.tracer) { self.tracer = tracer }

    /// Traces requests as children of the span that the caller is in.
    public var here: HTTPTracer {
      var tracer = self
      tracer.context = .current ?? .topLevel
      return tracer
    }

    /// Begins the span of a task, and adds its context to the request.
    public func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) -> HTTPRequest {
      let span = spans.open.withLock { open -> (any Span)? in
        // Without an entry, the task has ended while its interceptors were asked. With a span, this is another attempt.
        guard let known = open[task.id] else { return nil }
        let span = known ?? tracer.startSpan(request.method.rawValue, context: context, ofKind: .client)
        open[task.id] = span
        return span
      }
      var request = request
      if let span { tracer.inject(span.context, into: &request.headerFields, using: FieldInjector()) }
      return request
    }

    /// Ends the span of a task that is over.
    public func handle(_ event: HTTPEvent) {
      if case .created = event.kind { spans.open.withLock { $0[event.task.id] = .some(nil) } }
      guard case .finished(let result, let figures, _) = event.kind,
        let span = spans.open.withLock({ $0.removeValue(forKey: event.task.id) }) ?? nil
      else { return }
      span.attributes["http.request.method"] = event.request.method.rawValue
      span.attributes["server.address"] = event.request.authority ?? ""
      span.attributes["url.path"] = String(event.request.path?.prefix { $0 != "?" } ?? "/")
      span.attributes["http.request.resend_count"] = figures.furtherAttempts
      if case .success(let response) = result { span.attributes["http.response.status_code"] = response.status.code }
      if case .failure(let error) = result { span.recordError(error) }
      if (try? result.get().status.code < 400) != true { span.setStatus(SpanStatus(code: .error)) }
      span.end()
    }
  }
#endif
