import FoundationEssentials
import HTTPTypes

/// Tasks with callbacks. They are made suspended: `resume()` begins them, and no completion runs before it is called, unless the
/// task is cancelled or the session has ended.
extension HTTPSessionManager {
  /// A request whose response is kept in memory.
  ///
  /// - Parameters:
  ///   - request: what to ask for.
  ///   - body: what is sent with it. Default nil.
  ///   - options: Default nil: the session's.
  ///   - completion: called once, by the options' executor.
  public func dataTask(
    _ request: HTTPRequest, body: HTTPBody? = nil, options: HTTPTaskOptions? = nil,
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(request, body, options, { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// A request with a body, whose response is kept in memory.
  ///
  /// - Parameters:
  ///   - request: what to ask for.
  ///   - body: what is sent with it.
  ///   - options: Default nil: the session's.
  ///   - completion: called once, by the options' executor.
  public func uploadTask(
    _ request: HTTPRequest, from body: HTTPBody, options: HTTPTaskOptions? = nil,
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    dataTask(request, body: body, options: options, completion: completion)
  }

  /// A request whose response becomes a file, once it is whole.
  ///
  /// A response that is no success is an error, and no file. A file that can not be put into its place is an error too.
  /// - Parameters:
  ///   - request: what to ask for.
  ///   - body: what is sent with it. Default nil.
  ///   - destination: where the file goes.
  ///   - options: Default nil: the session's.
  ///   - completion: called once, by the options' executor.
  public func downloadTask(
    _ request: HTTPRequest, body: HTTPBody? = nil, to destination: HTTPDestination, options: HTTPTaskOptions? = nil,
    completion: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPTask {
    let isFlushed = (options ?? configuration.taskOptions).flushesFiles
    return task(
      request, body, options, { reply throws(HTTPError) in reply.with(try reply.value.file) },
      makeSink: { _ in FileSink(destination, isFlushed: isFlushed) }, completion)
  }

  /// - Parameters:
  ///   - own: the fields that the caller has given for this request. Nil: all that the request has.
  ///   - decodes: whether `convert` may take long. Then it holds up neither the loop's thread nor the caller's executor.
  ///   - convert: called away from the loop's thread.
  func task<Value: Sendable>(
    _ request: HTTPRequest, _ body: HTTPBody?, _ options: HTTPTaskOptions?, own: HTTPFields? = nil,
    isSuspended: Bool = true, decodes: Bool = false,
    _ convert: @escaping @Sendable (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)? = nil,
    _ completion: @escaping @Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    let options = options ?? configuration.taskOptions
    let status = TaskStatus()
    // What runs at once and is never alone needs no queue.
    guard decodes || options.executor.run != nil || options.onProgress != nil else {
      let order = order(
        request, body, options, own: own, status: status, makeSink: makeSink,
        completion: .atOnce { completion($0.converted(convert)) })
      return HTTPTask(order, status, inbox, isSuspended: isSuspended)
    }
    let callbacks = CallbackQueue(options)
    let order = order(
      request, body, options, own: own, callbacks: callbacks, status: status, makeSink: makeSink,
      completion: .later { outcome, end in
        guard decodes else {
          return callbacks.append {
            completion(outcome.converted(convert))
            end.fulfill()
          }
        }
        Task {
          let result = outcome.converted(convert)
          callbacks.append {
            completion(result)
            end.fulfill()
          }
        }
      })
    return HTTPTask(order, status, inbox, isSuspended: isSuspended)
  }
}

/// The same, awaited. A task that is cancelled cancels its request.
extension HTTPSessionManager {
  /// A request whose response is kept in memory.
  public func data(
    for request: HTTPRequest, body: HTTPBody? = nil, options: HTTPTaskOptions? = nil
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(request, body, options) { reply throws(HTTPError) in reply.with(reply.value.data) }
  }

  /// A request with a body, whose response is kept in memory.
  public func upload(
    _ body: HTTPBody, with request: HTTPRequest, options: HTTPTaskOptions? = nil
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await data(for: request, body: body, options: options)
  }

  /// A request whose response becomes a file, once it is whole.
  ///
  /// A response that is no success is an error, and no file. A file that can not be put into its place is an error too.
  public func download(
    _ request: HTTPRequest, body: HTTPBody? = nil, to destination: HTTPDestination, options: HTTPTaskOptions? = nil
  ) async throws(HTTPError) -> HTTPReply<URL> {
    let isFlushed = (options ?? configuration.taskOptions).flushesFiles
    return try await reply(request, body, options, { reply throws(HTTPError) in reply.with(try reply.value.file) }) {
      _ in
      FileSink(destination, isFlushed: isFlushed)
    }
  }
}

extension Result where Success == HTTPReply<ReceivedBody>, Failure == HTTPError {
  func converted<Value>(
    _ convert: (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>
  ) -> Result<HTTPReply<Value>, HTTPError> {
    do throws(HTTPError) {
      return .success(try convert(get()))
    } catch {
      return .failure(error)
    }
  }
}
