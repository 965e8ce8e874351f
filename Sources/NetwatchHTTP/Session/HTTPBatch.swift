import FoundationEssentials
import HTTPTypes
import Netwatch

/// Many requests that have one completion. From any thread; no call waits.
///
/// It goes on when nobody holds it.
public final class HTTPBatch: Sendable {
  private let canceller: @Sendable () -> Void

  init(_ canceller: @escaping @Sendable () -> Void) { self.canceller = canceller }

  /// Ends all requests that are not over with `cancelled`, and with them the batch.
  public func cancel() { canceller() }
}

extension HTTPSessionManager {
  /// Makes many requests, whose responses are kept in memory. A failure is one of the results, and ends no other request.
  ///
  /// - Parameters:
  ///   - requests: What to ask for: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - limit: The most requests that run at the same time. Default: 6. One that waits for its turn does not time out.
  ///   - options: The options of each request. Those that are not set are the session's.
  ///   - progress: Called when a request ends, one call each.
  ///   - completion: Called once, after the last progress, with a result for each request, in their order.
  @discardableResult
  public func batch(
    _ requests: [any RequestConvertible], limit: Int = 6, options: HTTPTaskOptions = HTTPTaskOptions(),
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Data>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(requests.count, limit, options, progress, completion) { session, index, completion in
      session.task(
        session.prepare(requests[index], nil, options), isSuspended: false,
        { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
    }
  }

  /// Makes many requests, with a serializer for all of them. A failure is one of the results, and ends no other request.
  ///
  /// - Parameters:
  ///   - requests: What to ask for: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - serializer: Judges each response, and makes a value of its body.
  ///   - limit: The most requests that run at the same time. Default: 6. One that waits for its turn does not time out.
  ///   - options: The options of each request. Those that are not set are the session's.
  ///   - progress: Called when a request ends, one call each.
  ///   - completion: Called once, after the last progress, with a result for each request, in their order.
  @discardableResult
  public func batch<Serializer: ResponseSerializer>(
    _ requests: [any RequestConvertible], as serializer: Serializer, limit: Int = 6,
    options: HTTPTaskOptions = HTTPTaskOptions(), progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Serializer.Value>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(requests.count, limit, options, progress, completion) { session, index, completion in
      session.send(requests[index], options: options, as: serializer, completion: completion)
    }
  }

  /// Makes many requests, and waits for all of their responses, which are kept in memory. A Swift task that is cancelled
  /// cancels its batch.
  ///
  /// - Parameters:
  ///   - requests: What to ask for: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - limit: The most requests that run at the same time. Default: 6. One that waits for its turn does not time out.
  ///   - options: The options of each request. Those that are not set are the session's.
  ///   - progress: Called when a request ends, one call each.
  /// - Returns: A result for each request, in their order.
  public func batch(
    _ requests: [any RequestConvertible], limit: Int = 6, options: HTTPTaskOptions = HTTPTaskOptions(),
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil
  ) async -> [Result<HTTPReply<Data>, HTTPError>] {
    let cancellation = CancellationHandle<HTTPBatch> { $0.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let batch = batch(requests, limit: limit, options: options, progress: progress) {
          continuation.resume(returning: $0)
        }
        cancellation.began(batch)
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func begin<Value: Sendable>(
    _ count: Int, _ limit: Int, _ options: HTTPTaskOptions, _ progress: (@Sendable (HTTPBatchProgress) -> Void)?,
    _ completion: @escaping @Sendable ([Result<HTTPReply<Value>, HTTPError>]) -> Void,
    make: @escaping BatchCore<Value>.Maker
  ) -> HTTPBatch {
    let core = BatchCore(
      self, count, limit, CallbackQueue(configuration.taskOptions.merged(with: options)), progress, completion,
      make: make)
    core.handle(.began)
    return HTTPBatch { core.handle(.cancelled) }
  }
}
