#if ServiceLifecycle
  import ServiceLifecycle

  /// The package trait `ServiceLifecycle` makes a monitor a service of a `ServiceGroup`.
  extension NetworkMonitor: Service {
    /// Runs until the group shuts down gracefully.
    ///
    /// - Throws: The ``NetworkMonitorError`` that ended the monitor, so that the group can end or start again.
    public func run() async throws {
      try await cancelWhenGracefulShutdown { [self] in
        for try await _ in paths {}
      }
    }
  }
#endif
