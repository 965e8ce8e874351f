import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A response whose body you read while it arrives.
public struct HTTPStream: Sendable {
  /// The head of the response.
  public let response: HTTPResponse
  /// The request of the task, or, after redirects, the last request that was sent. See ``HTTPReply/request``.
  public let request: HTTPRequest
  /// The body of the response, for a single reader.
  public let body: Body
  /// The trailer fields, which the server has sent after the body (RFC 9110, section 6.5). Empty if there are none, and until
  /// the last part of the body has been read.
  ///
  /// Many servers send trailers only if the request has `TE: trailers`. libcurl reads none after a body that has a
  /// `Content-Length`.
  public var trailers: HTTPFields { body.buffer.trailers ?? [:] }

  /// The parts of a body, for a single reader. If the reader is slower than the server, the server has to wait (back-pressure).
  ///
  /// The request is cancelled once the body and all iterators of it are released.
  public struct Body: AsyncSequence, Sendable {
    /// A part of the body.
    public typealias Element = Data
    /// The error of the request.
    public typealias Failure = HTTPError

    let buffer: BodyBuffer
    /// Cancels the request when it is fulfilled, or at the latest when it is released.
    let lease: OneShot<Void>

    /// An iterator over the parts of a body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let body: Body

      /// Waits for the next part of the body, and returns it. Returns nil after the last part.
      public mutating func next() async throws(HTTPError) -> Data? { try await body.next() }
      /// Waits for the next part of the body, and returns it. Returns nil after the last part.
      ///
      /// - Parameter isolation: The actor of the caller.
      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> Data? {
        try await body.next()
      }
    }

    /// Returns an iterator over the parts of the body.
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
  /// Sends a request, and returns when the head of its response has arrived, whatever its status is. You read the body while it
  /// arrives.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request, if it fails before the head of the response. A later error is thrown by the body.
  public func stream(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPStream {
    let plan = plan(request, body, options, .stream)
    if let refusal = plan.refusal { throw refusal }
    let buffer = BodyBuffer()
    let place = engines.next()
    let cancel = { @Sendable in place.engine.cancel(place.id) }
    let result = await withTaskCancellationHandler {
      begin(
        plan, place,
        makeSink: { goOn in
          buffer.onNews(goOn)
          return buffer
        },
        { outcome, end in
          buffer.finish(outcome.map { _ in () }, trailers: (try? outcome.get())?.knownTrailers)
          end.fulfill()
        })
      // The cancellation may have come before there was anything to cancel.
      if Task.isCancelled { cancel() }
      do throws(HTTPError) {
        return Result<HTTPReply<Void>, HTTPError>.success(try await buffer.head())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancel()
    }
    let head = try result.get()
    return HTTPStream(
      response: head.response, request: head.request, body: HTTPStream.Body(buffer: buffer, lease: OneShot(cancel)))
  }
}
