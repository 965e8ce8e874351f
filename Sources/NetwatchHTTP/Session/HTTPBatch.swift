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
  ///   - requests: what to ask for.
  ///   - limit: how many run at once. One that waits for its turn does not time out.
  ///   - options: of each request. Default nil: the session's.
  ///   - progress: called when a request ends, one call each.
  ///   - completion: called once, after the last progress, with a result for each request, in their order.
  @discardableResult
  public func batch(
    _ requests: [HTTPRequest], limit: Int = 6, options: HTTPTaskOptions? = nil,
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Data>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(requests.count, limit, options, progress, completion) { session, index, completion in
      session.task(
        requests[index], nil, options, isSuspended: false,
        { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
    }
  }

  /// The same for calls of verbs, with a serializer for all of them.
  @discardableResult
  public func batch<Serializer: ResponseSerializer>(
    _ calls: [HTTPCall], as serializer: Serializer, limit: Int = 6, options: HTTPTaskOptions? = nil,
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Serializer.Value>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(calls.count, limit, options, progress, completion) { session, index, completion in
      var call = calls[index]
      call.options = call.options ?? options
      return session.send(call, as: serializer, completion: completion)
    }
  }

  /// The same, awaited. A task that is cancelled cancels its batch.
  public func batch(
    _ requests: [HTTPRequest], limit: Int = 6, options: HTTPTaskOptions? = nil,
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
    _ count: Int, _ limit: Int, _ options: HTTPTaskOptions?, _ progress: (@Sendable (HTTPBatchProgress) -> Void)?,
    _ completion: @escaping @Sendable ([Result<HTTPReply<Value>, HTTPError>]) -> Void,
    make: @escaping BatchCore<Value>.Maker
  ) -> HTTPBatch {
    let core = BatchCore(
      self, count, limit, CallbackQueue(options ?? configuration.taskOptions), progress, completion, make: make)
    core.handle(.began)
    return HTTPBatch { core.handle(.cancelled) }
  }
}
