#if AsyncHTTPClient
  import AsyncHTTPClient
  import Netwatch
  import NIOCore

  /// The path to the network is missing, or was lost while a request ran.
  public enum NetworkPathError: Error, Equatable, CustomStringConvertible {
    /// Nothing was reachable, so nothing was sent.
    case notReachable(ReachabilityReason)
    /// The link that carried the request does not work any more. The server may have got the request.
    case lost(ReachabilityReason)

    /// What has happened and why, such as `the path was lost: no carrier`.
    public var description: String {
      switch self {
      case .notReachable(let reason): "nothing is reachable: \(reason)"
      case .lost(let reason): "the path was lost: \(reason)"
      }
    }
  }

  /// The package trait `AsyncHTTPClient` makes requests of AsyncHTTPClient fail when their path is lost, and not begin without one.
  extension HTTPClient {
    /// Sends a request over the path of a monitor, and passes the response to a closure.
    ///
    /// ```swift
    /// let text = try await HTTPClient.shared.execute(request, over: monitor, waiting: .seconds(30)) { response in
    ///   String(buffer: try await response.body.collect(upTo: 1 << 20))
    /// }
    /// ```
    ///
    /// While nothing is reachable, no attempt is made. If the link that carries the traffic stops working until `body` has returned, the
    /// request is cancelled at once. Idle connections in the client's pool over a link that was lost are not closed: AsyncHTTPClient
    /// does not tell which these are.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - monitor: The monitor of the internet, or of the server.
    ///   - limit: The time to wait for a path. Default: zero, which fails at once.
    ///   - timeout: The time for the response's head to come, once there is a path. Default: 60 seconds.
    ///   - body: The closure that reads the response.
    /// - Returns: The value that `body` returns.
    /// - Throws: A ``NetworkPathError``, or the error of the client or of `body`.
    public func execute<Value: Sendable>(
      _ request: HTTPClientRequest, over monitor: NetworkMonitor, waiting limit: Duration = .zero,
      timeout: TimeAmount = .seconds(60), _ body: @escaping @Sendable (HTTPClientResponse) async throws -> Value
    ) async throws -> Value {
      guard await monitor.waitUntil(.reachable, within: limit) else {
        try _Concurrency.Task.checkCancellation()
        throw NetworkPathError.notReachable(monitor.currentPath.reason)
      }
      let path = monitor.currentPath
      return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body(self.execute(request, timeout: timeout)) }
        group.addTask {
          if let reason = await monitor.loss(of: path) { throw NetworkPathError.lost(reason) }
          return nil
        }
        defer { group.cancelAll() }
        // The second task ends without an error only with the monitor, and the request goes on then.
        while let value = try await group.next() {
          if let value { return value }
        }
        throw CancellationError()
      }
    }
  }

  extension NetworkMonitor {
    /// Waits until the link that carries a path does not work any more.
    ///
    /// - Returns: The reason. Nil if the monitor has ended.
    fileprivate func loss(of path: NetworkPath) async -> ReachabilityReason? {
      do {
        for try await now in paths where !now.isReachable || !now.has(path.interfaceIndex) { return now.reason }
      } catch {}
      return nil
    }
  }

  extension NetworkPath {
    /// Returns whether a link could carry traffic now.
    fileprivate func has(_ index: Int32?) -> Bool {
      guard let index else { return true }
      return interfaces.contains { $0.index == index && status(of: $0) != .notReachable }
    }
  }
#endif
