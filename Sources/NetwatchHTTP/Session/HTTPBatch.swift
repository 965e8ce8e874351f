import FoundationEssentials
import HTTPTypes
import Netwatch

/// A batch of requests with one completion. All members can be used from any thread, and no call waits.
///
/// The batch continues when this object is released.
public final class HTTPBatch: Sendable {
  private let canceller: @Sendable () -> Void

  init(_ canceller: @escaping @Sendable () -> Void) { self.canceller = canceller }

  /// Cancels all requests that are not over, which ends the batch. Each of them gets the result `cancelled`.
  public func cancel() { canceller() }
}

extension HTTPSessionManager {
  /// Begins many requests, and keeps their responses in memory. A failed request is one of the results, and does not stop the
  /// others. A response with any status is a success.
  ///
  /// - Parameters:
  ///   - requests: The requests: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - limit: The most requests that run at the same time. Default: 6. A request that waits for its turn does not time out.
  ///   - options: The options of each request. Options that are not set come from the session.
  ///   - progress: Called once for each request, when it ends. Default: nil.
  ///   - completion: Called once by the executor of `options`, after the last call of `progress`. It gets one result for each
  ///     request, in the order of `requests`.
  /// - Returns: The batch, by which you can cancel the requests.
  @discardableResult
  public func batch(
    _ requests: [any RequestConvertible], limit: Int = 6, options: HTTPTaskOptions = HTTPTaskOptions(),
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Data>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(requests.count, limit, options, progress, completion) { session, index, completion in
      session.task(
        session.plan(requests[index], nil, options), isSuspended: false,
        { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
    }
  }

  /// Begins many requests, with one serializer for all of them. A failed request is one of the results, and does not stop the
  /// others.
  ///
  /// - Parameters:
  ///   - requests: The requests: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - serializer: Checks each response, and makes a value from its body.
  ///   - limit: The most requests that run at the same time. Default: 6. A request that waits for its turn does not time out.
  ///   - options: The options of each request. Options that are not set come from the session.
  ///   - progress: Called once for each request, when it ends. Default: nil.
  ///   - completion: Called once by the executor of `options`, after the last call of `progress`. It gets one result for each
  ///     request, in the order of `requests`.
  /// - Returns: The batch, by which you can cancel the requests.
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

  /// Makes many requests, and waits for all of their responses, which are kept in memory. A response with any status is a success.
  /// Cancelling the Swift task cancels the batch.
  ///
  /// - Parameters:
  ///   - requests: The requests: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - limit: The most requests that run at the same time. Default: 6. A request that waits for its turn does not time out.
  ///   - options: The options of each request. Options that are not set come from the session.
  ///   - progress: Called once for each request, when it ends. Default: nil.
  /// - Returns: One result for each request, in the order of `requests`.
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
      self, count, limit, callbacks(configuration.taskOptions.merged(with: options)), progress, completion,
      make: make)
    // An empty batch ends as it begins, and its completion must not run before the caller has the batch.
    if count > 0 { core.handle(.began) } else { Task { core.handle(.began) } }
    return HTTPBatch { core.handle(.cancelled) }
  }
}
