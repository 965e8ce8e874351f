import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A response whose body is read as it comes.
public struct HTTPStream: Sendable {
  public let response: HTTPResponse
  /// The request that the server has answered: after redirects, another one than the task's.
  public let request: HTTPRequest
  public let body: Body
  /// The fields that the server has sent behind the body (RFC 9110, section 6.5). Empty if there are none, and until the last
  /// part of the body has been read.
  ///
  /// Many servers send them only if the request has `TE: trailers`, and libcurl reads none behind a body that has a
  /// `Content-Length`.
  public var trailers: HTTPFields { body.buffer.trailers ?? [:] }

  /// The parts of a body, for one reader. A server that is faster than the reader is made to wait.
  ///
  /// When nobody holds it or an iterator of it any more, the request is cancelled.
  public struct Body: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = HTTPError

    let buffer: BodyBuffer
    /// Cancels the request, at the latest when it is released.
    let lease: OneShot<Void>

    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let body: Body

      public mutating func next() async throws(HTTPError) -> Data? { try await body.next() }
      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> Data? {
        try await body.next()
      }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    private func next() async throws(HTTPError) -> Data? {
      let result = await withTaskCancellationHandler {
        do throws(HTTPError) {
          return Result<Data?, HTTPError>.success(try await buffer.next())
        } catch {
          return .failure(error)
        }
      } onCancel: {
        lease.fulfill()
      }
      return try result.get()
    }
  }
}

extension HTTPSessionManager {
  /// Sends a request, and returns with the head of its response. The body is read as it comes.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: What is sent with it. Default: nil.
  ///   - options: Those that are not set are the session's.
  public func stream(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPStream {
    let call = prepare(request, body, options, .stream)
    if let refusal = call.refusal { throw refusal }
    let buffer = BodyBuffer()
    let cancellation = cancellation()
    let result = await withTaskCancellationHandler {
      begin(
        order(
          call,
          makeSink: { goOn in
            buffer.onNews(goOn)
            return buffer
          },
          completion: .atOnce { outcome in
            buffer.finish(outcome.map { _ in () }, trailers: (try? outcome.get())?.knownTrailers)
          }), cancellation)
      do throws(HTTPError) {
        return Result<HTTPReply<Void>, HTTPError>.success(try await buffer.head())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancellation.cancel()
    }
    let head = try result.get()
    return HTTPStream(
      response: head.response, request: head.request,
      body: HTTPStream.Body(buffer: buffer, lease: OneShot { cancellation.cancel() }))
  }
}
