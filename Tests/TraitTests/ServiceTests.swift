#if ServiceLifecycle
  import Logging
  import Netwatch
  import NetwatchTestSupport
  import ServiceLifecycle
  import Testing

  /// A monitor as a service of a group.
  @Suite(.timeLimit(.minutes(1))) struct ServiceTests {
    private static func group(_ monitor: NetworkMonitor) -> ServiceGroup {
      ServiceGroup(services: [monitor], logger: Logger(label: "test"))
    }

    @Test func `a monitor runs until the group shuts down`() async throws {
      let feed = MonitorFeed()
      let group = Self.group(NetworkMonitor(feed: feed) {})
      let run = Task { try await group.run() }
      await group.triggerGracefulShutdown()
      try await run.value
    }

    @Test func `the error that ends the monitor ends the group`() async {
      let feed = MonitorFeed()
      let error = NetworkMonitorError(operation: "recv", code: 12, description: "gone")
      let group = Self.group(NetworkMonitor(feed: feed) {})
      feed.fail(error)
      await #expect(throws: error) { try await group.run() }
    }
  }
#endif
