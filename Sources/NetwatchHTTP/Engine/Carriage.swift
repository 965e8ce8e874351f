import FoundationEssentials
import HTTPTypes

/// An attempt that an ``HTTPTransport`` makes, as its transfer on the loop holds it. When this is released, the attempt is
/// cancelled.
final class Carriage {
  /// The parts of the body on their way to the loop.
  let buffer: BodyBuffer
  private let task: Task<Void, Never>
  /// A part of the body that was not taken yet.
  var held: Data?

  /// - Parameters:
  ///   - buffer: Gets the body.
  ///   - tell: Called with the head, before the body comes; or with the error if there is no head.
  init(
    of request: HTTPRequest, _ body: HTTPBody?, by transport: any HTTPTransport, _ buffer: BodyBuffer,
    _ tell: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
  ) {
    self.buffer = buffer
    task = Task { await Carriage.fetch(request, body, transport, buffer, tell) }
  }

  private static func fetch(
    _ request: HTTPRequest, _ body: HTTPBody?, _ transport: any HTTPTransport, _ buffer: BodyBuffer,
    _ tell: @Sendable (Result<HTTPResponse, HTTPError>) -> Void
  ) async {
    do throws(HTTPError) {
      let answer = try await transport.send(request, body: body)
      tell(.success(answer.response))
      buffer.finish(await pass(answer, to: buffer))
    } catch {
      tell(.failure(error))
    }
  }

  private static func pass(_ answer: HTTPTransportAnswer, to buffer: BodyBuffer) async -> Result<Void, HTTPError> {
    do {
      try await answer.body { part in if !part.isEmpty { await buffer.put(part) } }
      return .success(())
    } catch {
      return .failure(HTTPError(ofTransport: error, "response"))
    }
  }

  deinit {
    task.cancel()
    buffer.finish(.success(()))
  }
}
