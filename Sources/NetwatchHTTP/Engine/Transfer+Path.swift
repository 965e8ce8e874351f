import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// The paths of a task: what it does when the path to its server is lost, and how it waits for one.
extension Transfer {
  /// Handles the loss of some of the session's connections, perhaps with that of this task. Never called from within libcurl.
  func connectionsLost(_ lost: [(socket: CInt, connection: Connection)]) {
    guard machine.isAttached, let easy else { return }
    if let own = easy.connection {
      guard lost.contains(where: { $0.connection.hasEnds(of: own) }) else { return }
      attempt.peers = [own.peer]
      guard options.retriesWhenReachable, mayRepeat(easy) else { return fail(.lossOfPath(to: [own.peer], nil)) }
      keptSource = source
      handle(.connectionLost)
    } else if easy.opened.contains(where: { own in lost.contains { $0.socket == own.socket } }) {
      // libcurl tries the server's next address if this one fails.
      attempt.hasLostConnection = true
    }
  }

  /// Returns the error of the task after libcurl has ended an attempt. Nil if the attempt is repeated when there is a path.
  func failureOfPath(_ failure: HTTPError, of easy: CurlEasy) -> HTTPError? {
    guard let path = engine.path else { return failure }
    let peers = easy.opened.map(\.peer.address)
    guard engine.asksKernel else {
      // A path from another source does not report the state of single connections.
      let waits = options.retriesWhenReachable && !path.hasPath && failure.kind.maySpeakOfPath
      return waits && mayRepeat(easy) ? nil : failure
    }
    switch failure.kind {
    case .notResolved: attempt.peers = []
    case _ where !peers.isEmpty: attempt.peers = peers
    default: break
    }
    let isLost = attempt.hasLostConnection && easy.connection == nil || !engine.hasPath(to: attempt.peers)
    guard failure.kind.maySpeakOfPath, isLost else { return failure }
    let waits = options.reachabilityTimeout != nil || engine.graceEnd > engine.now
    guard mayRepeat(easy), options.retriesWhenReachable || waits && !hasSent(easy) else {
      // A connection that was lost in the middle may have been ended by the server.
      return failure.kind == .connectionLost ? failure : .lossOfPath(to: peers, failure)
    }
    return nil
  }

  /// Returns whether a request that a transport has made waits for a path after a failure.
  func waitsForPath(after failure: HTTPError) -> Bool {
    guard let path = engine.path, options.retriesWhenReachable, !attempt.hasAnswer, chain.allowsRepetition else {
      return false
    }
    return !path.hasPath && failure.kind.maySpeakOfPath
  }

  /// Returns whether the server may have got a part of the request.
  func hasSent(_ easy: CurlEasy) -> Bool { attempt.wasSent || easy.hasSent }

  /// Returns whether libcurl may send a request now that must not be sent twice. By itself, libcurl sends any request again if
  /// its reused connection ended before a response. The server may already have done what a POST asks for. It has not if it has
  /// got nothing of the body, or if it has reported so.
  func maySendOnce(_ easy: CurlEasy) -> Bool {
    let hasBody = chain.body.map { $0.length != 0 } ?? false
    let isFirst = !hasSent(easy) || attempt.hasAnswer || hasBody && !attempt.hasSupplied
    guard isFirst || easy.isRejected else {
      let message =
        "the connection has ended before an answer, and a \(chain.request.method.rawValue) is not sent twice"
      refuse(HTTPError(.connectionLost, "request", message: message))
      return false
    }
    attempt.hasAnswer = false
    attempt.wasSent = false
    easy.listenForRejection()
    return true
  }

  /// Returns whether the request may be sent again. If it has reached a server, repeating it must do no harm (RFC 9110, section
  /// 9.2.2).
  private func mayRepeat(_ easy: CurlEasy) -> Bool {
    guard !attempt.hasAnswer, source?.rewind() ?? true else { return false }
    return !hasSent(easy) || chain.allowsRepetition
  }

  /// Returns the body of an attempt that is repeated. Nil if it has to be opened.
  func takeKeptSource() -> (any BodySource)? {
    defer { keptSource = nil }
    return keptSource?.rewind() ?? false ? keptSource : nil
  }

  // MARK: Waiting

  /// Whether there is a path for an attempt now.
  var hasPath: Bool { mayUsePath && engine.hasPath(to: attempt.peers) }

  /// Whether the options let the task use the path as it is.
  var mayUsePath: Bool {
    guard options.restrictsPath, let path = engine.path else { return true }
    if let required = options.requiredMedia, !(path.medium.map { required.contains($0) } ?? false) { return false }
    return options.allowsExpensivePath || path.isExpensive == false
  }

  /// The reason why the task can never begin; nil if there is none.
  var refusalOfPath: HTTPError? {
    // A Unix socket needs no path.
    guard options.restrictsPath, engine.path == nil, curl.settings.unixSocketPath == nil else { return nil }
    return HTTPError(
      .badConfiguration, "wait for a path",
      message: "the options say which path the task may use; give the session a path, such as a NetworkMonitor")
  }

  /// The time until which the task waits for a path.
  var patienceEnd: Duration {
    if let patience = options.reachabilityTimeout { return engine.now + patience.asDelay }
    return options.retriesWhenReachable ? engine.now + .seconds(60) : engine.graceEnd
  }

  /// Fails the task, because no path has come in time.
  func losePatience() {
    if !mayUsePath {
      let medium = engine.path?.medium.map { "goes over \($0.rawValue)" } ?? "is not known"
      return fail(
        HTTPError(
          .notReachable, "wait for a path",
          message: "the path \(medium), and requiredMedia or allowsExpensivePath excludes it"))
    }
    if options.reachabilityTimeout != nil || options.retriesWhenReachable {
      return fail(HTTPError(.notReachable, "wait for a path"))
    }
    fail(.lossOfPath(to: attempt.peers ?? [], nil))
  }
}

extension HTTPError {
  /// - Parameters:
  ///   - peers: The addresses of the server, or of its proxy, that were tried.
  ///   - failure: The error of libcurl; nil if there is none.
  fileprivate static func lossOfPath(to peers: [IPAddress], _ failure: HTTPError?) -> HTTPError {
    let peers = peers.map(\.description).joined(separator: ", ")
    return HTTPError(
      .pathLost, "request", code: failure?.code ?? 0,
      message: peers.isEmpty ? "there is no path to the internet" : "there is no path to \(peers)",
      underlying: failure)
  }
}

extension HTTPError.Kind {
  /// Whether a lost path can cause this kind of failure.
  fileprivate var maySpeakOfPath: Bool {
    [.notResolved, .cannotConnect, .connectionLost, .timedOut, .secureConnectionFailed].contains(self)
  }
}
