import FoundationEssentials
import HTTPTypes
import Netwatch

/// Keeps the answers of real servers in a file, and gives them again later, for tests that need no server.
///
/// ```swift
/// // Once:
/// configuration.transport = RecordedTransport(recording: file, by: try HTTPSessionManager())
/// // In each test:
/// configuration.transport = try RecordedTransport(replaying: file)
/// ```
///
/// The file is JSON, and is meant to be read, and to be kept beside the tests. `Authorization`, `Proxy-Authorization`, `Cookie`
/// and `Set-Cookie` are left out of it.
///
/// A request is recognized by its method, its URL and its body. If it was recorded several times, it gets the answers in their
/// order, and the last one again and again. One that was not recorded fails with `notRecorded`.
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
    /// The places of those that were given already.
    var used: Set<Int> = []
  }

  private static let secrets: [HTTPField.Name] = [.authorization, .proxyAuthorization, .cookie, .setCookie]

  private let state: Lock<State>
  private let file: URL
  /// Nil if nothing is recorded.
  private let session: HTTPSessionManager?

  /// Answers from a file.
  ///
  /// - Throws: `fileFailed` if the file cannot be read, or is no recording.
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

  /// Answers with what real servers say, and writes that into a file, which is replaced with the first answer.
  ///
  /// - Parameters:
  ///   - file: The recording. It is whole after each answer.
  ///   - session: Makes the requests. It must not have this transport itself.
  public init(recording file: URL, by session: HTTPSessionManager) {
    self.file = file
    self.session = session
    state = Lock(State())
  }

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
    // The body is kept without them.
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
