#if Logging && Metrics && Tracing
  import Foundation
  import HTTPTypes
  import InMemoryLogging
  import InMemoryTracing
  import Logging
  import MetricsTestKit
  import NetwatchHTTP
  import Testing
  import Tracing

  /// Checks what logs, metrics and traces contain about the tasks of a session. A script stands in for the server.
  @Suite struct ObservabilityTests {
    private let log = InMemoryLogHandler()
    private let metrics = TestMetrics()
    private let tracer = InMemoryTracer()
    private let http: HTTPTracer
    private let server: ScriptedTransport
    private let session: HTTPSessionManager

    init() throws {
      server = ScriptedTransport { request, _ in
        switch request.path {
        case "/users/1?token=secret": .text("Ali")
        case "/missing": HTTPTransportAnswer(.notFound)
        default: throw CancellationError()
        }
      }
      var logger = Logger(label: "test") { [log] _ in log }
      logger.logLevel = .debug
      http = HTTPTracer(tracer: tracer)
      var configuration = HTTPSessionConfiguration()
      configuration.transport = server
      configuration.eventObservers = [HTTPLogObserver(logger), HTTPMetricsObserver(factory: metrics), http]
      configuration.interceptors = [http]
      session = try HTTPSessionManager(
        baseURL: URL(string: "http://example.com"), configuration: configuration)
    }

    /// The last event of a task may come after its reply.
    private func finish() async {
      session.finishTasksAndInvalidate()
      await session.waitUntilInvalidated()
    }

    @Test func `a success is a line of the log, a timer and a span, without the query`() async throws {
      _ = try await session.send("users/1?token=secret", as: TextResponseSerializer())
      await finish()
      let entry = try #require(log.entries.first)
      #expect(log.entries.count == 1)
      #expect(entry.level == .debug)
      #expect(entry.metadata["http.response.status_code"] == "200")
      #expect(entry.metadata["url.path"] == "/users/1")
      let timer = try #require(metrics.timers(label: "http_client_request_duration").first)
      #expect(timer.values.count == 1)
      #expect(timer.dimensions.map(\.1) == ["GET", "example.com", "200"])
      #expect(try metrics.expectMeter("http_client_active_requests").values == [1, 0])
      let span = try #require(tracer.finishedSpans.first)
      #expect(span.operationName == "GET")
      #expect(span.attributes["url.path"]?.toSpanAttribute() == .string("/users/1"))
      #expect(server.requests.first?.request.headerFields[HTTPField.Name("in-memory-span-id")!] == span.spanID)
    }

    @Test func `a status of 400 and above and a failure are told as what they are`() async throws {
      await #expect(throws: HTTPError.self) { try await session.send("missing") }
      await #expect(throws: HTTPError.self) { try await session.send("broken") }
      await finish()
      #expect(log.entries.map(\.level) == [.notice, .error])
      #expect(log.entries.last?.metadata["error.type"] == "connectionLost")
      let ends = metrics.timers(label: "http_client_request_duration").map { $0.dimensions.last?.1 }
      #expect(Set(ends) == ["404", "connectionLost"])
      #expect(tracer.finishedSpans.map { $0.status?.code } == [.error, .error])
      #expect(tracer.finishedSpans.map(\.errors.count) == [0, 1])
    }

    @Test func `the span of a call is a child of the caller's`() async throws {
      try await tracer.withSpan("show user") { _ in
        _ = try await session.send(
          "users/1?token=secret", options: .with { $0.interceptors = [http.here] }, as: TextResponseSerializer())
      }
      await finish()
      let spans = tracer.finishedSpans
      #expect(spans.map(\.operationName) == ["GET", "show user"])
      #expect(spans.first?.parentSpanID == spans.last?.spanID)
    }

    @Test func `a task that is cancelled leaves no span open`() async throws {
      let task = session.dataTask("broken") { _ in }
      task.cancel()
      await finish()
      #expect(tracer.activeSpans.isEmpty)
    }
  }
#endif
