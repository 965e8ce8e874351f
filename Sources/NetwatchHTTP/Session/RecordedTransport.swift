import FoundationEssentials
import HTTPTypes
import Netwatch

/// A transport that records the responses of real servers in a file, and replays them later, for tests that need no server.
///
/// ```swift
/// // Once:
/// configuration.transport = RecordedTransport(recording: file, by: try HTTPSessionManager())
/// // In each test:
/// configuration.transport = try RecordedTransport(replaying: file)
/// ```
///
/// The file is JSON that people can read, and is meant to be kept with the tests. `Authorization`, `Proxy-Authorization`,
/// `Cookie` and `Set-Cookie` are left out of it.
///
/// A request is recognized by its method, its URL and its body. If it was recorded several times, its responses are replayed in
/// their order, and the last one is repeated. A request that was not recorded fails with `notRecorded`.
public final class RecordedTransport: HTTPTransport {
  private struct Exchange: Codable, Sendable {
    var request: HTTPRequest
    var body: Data
    var response: HTTPResponse
    var answer: Data

    func isFor(_ request: HTTPRequest, _ body: Data) -> Bool {
      self.request.method == request.method && self.request.urlText == request.urlText && self.body == body
    }
  }

  private struct State: Sendable {
    var exchanges: [Exchange] = []
    /// The indices of the exchanges that were already replayed.
    var used: Set<Int> = []
  }

  private static let secrets: [HTTPField.Name] = [.authorization, .proxyAuthorization, .cookie, .setCookie]

  private let state: Lock<State>
  private let file: URL
  /// The session that makes the requests; nil when a file is replayed.
  private let session: HTTPSessionManager?

  /// Creates a transport that replays a file.
  ///
  /// - Parameter file: The recording.
  /// - Throws: `fileFailed` if the file cannot be read, or is not a recording.
  public init(replaying file: URL) throws(HTTPError) {
    self.file = file
    session = nil
    do {
      let exchanges = try JSONDecoder().decode([Exchange].self, from: Data(contentsOf: file))
      state = Lock(State(exchanges: exchanges))
    } catch {
      throw HTTPError(.fileFailed, "read the recording \(file.path)", message: "\(error)", underlying: error)
    }
  }

  /// Creates a transport that asks real servers, and records their responses in a file. The first response replaces the file.
  ///
  /// - Parameters:
  ///   - file: The recording. It is complete after each response.
  ///   - session: The session that makes the requests. It must not use this transport itself.
  public init(recording file: URL, by session: HTTPSessionManager) {
    self.file = file
    self.session = session
    state = Lock(State())
  }

  /// Returns the recorded response to a request; or asks the server, and records the response.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body of the request. Nil for none.
  /// - Throws: `notRecorded` if the file has no response to the request, `fileFailed` if the file cannot be written, or the
  ///   error of the session.
  public func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer {
    var data = Data()
    if let body { data = try await body.data() }
    guard let session else { return try replay(request, data) }
    let sent: HTTPBody? = body.map { .data(data, contentType: $0.contentType) }
    // The session under test follows redirects itself.
    let reply = try await session.data(for: request, body: sent, options: .with { $0.maximumRedirects = 0 })
    try record(Exchange(request: request, body: data, response: reply.response, answer: reply.value))
    return HTTPTransportAnswer(reply.response, body: reply.value)
  }

  private func replay(_ request: HTTPRequest, _ body: Data) throws(HTTPError) -> HTTPTransportAnswer {
    let exchange = state.withLock { state -> Exchange? in
      let places = state.exchanges.indices.filter { state.exchanges[$0].isFor(request, body) }
      guard let place = places.first(where: { !state.used.contains($0) }) ?? places.last else { return nil }
      state.used.insert(place)
      return state.exchanges[place]
    }
    guard let exchange else {
      throw HTTPError(
        .notRecorded, "replay \(file.lastPathComponent)",
        message: "there is no \(request.method.rawValue) of \(request.urlText ?? "") in it; record it anew")
    }
    return HTTPTransportAnswer(exchange.response, body: exchange.answer)
  }

  private func record(_ exchange: Exchange) throws(HTTPError) {
    var exchange = exchange
    for name in Self.secrets {
      exchange.request.headerFields[name] = nil
      exchange.response.headerFields[name] = nil
    }
    // These fields describe the body as it was transferred, and it is kept decoded.
    for name in [HTTPField.Name.contentEncoding, .transferEncoding, .contentLength] {
      exchange.response.headerFields[name] = nil
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let kept = exchange
    let result = state.withLock { state in
      state.exchanges.append(kept)
      return Result { try encoder.encode(state.exchanges).write(to: file, options: .atomic) }
    }
    if case .failure(let error) = result {
      throw HTTPError(.fileFailed, "write the recording \(file.path)", message: "\(error)", underlying: error)
    }
  }
}

extension HTTPTransportAnswer {
  fileprivate init(_ response: HTTPResponse, body: Data) {
    self.init(response.status, headerFields: response.headerFields, body: body)
  }
}
