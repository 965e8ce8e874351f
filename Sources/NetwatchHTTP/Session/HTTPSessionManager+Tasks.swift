import FoundationEssentials
import HTTPTypes

/// Tasks with callbacks. They are made suspended: `resume()` begins them, and no completion runs before it is called, unless the
/// task is cancelled or the session has ended.
extension HTTPSessionManager {
  /// Makes a task whose response is kept in memory.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: What is sent with it. Default: nil.
  ///   - options: Those that are not set are the session's.
  ///   - completion: Called once, by the options' executor.
  public func dataTask(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(
      prepare(request, body, options), { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// Makes a task that sends a body, and whose response is kept in memory.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. A path or a URL
  ///     means POST.
  ///   - body: What is sent.
  ///   - options: Those that are not set are the session's.
  ///   - completion: Called once, by the options' executor.
  public func uploadTask(
    _ request: some RequestConvertible, from body: HTTPBody, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(
      prepare(request, body, options, .upload), { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// Makes a task whose response becomes a file, once it is whole.
  ///
  /// A response that is no success is an error, and no file. A file that cannot be put into its place is also an error.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: What is sent with it. Default: nil.
  ///   - destination: Where the file goes.
  ///   - options: Those that are not set are the session's.
  ///   - completion: Called once, by the options' executor.
  public func downloadTask(
    _ request: some RequestConvertible, body: HTTPBody? = nil, to destination: HTTPDestination,
    options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPTask {
    let call = prepare(request, body, options, .download)
    let isFlushed = call.options.flushesFiles
    return task(
      call, { reply throws(HTTPError) in reply.with(try reply.value.file) },
      makeSink: { _ in FileSink(destination, isFlushed: isFlushed) }, completion)
  }

  /// - Parameters:
  ///   - decodes: whether `convert` may take long. Then it holds up neither the loop's thread nor the caller's executor.
  ///   - convert: called away from the loop's thread.
  func task<Value: Sendable>(
    _ call: consuming PreparedCall, isSuspended: Bool = true, decodes: Bool = false,
    _ convert: @escaping @Sendable (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>,
    makeSink: (@Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink)? = nil,
    _ completion: @escaping @Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    let shared = call.shared
    let status = TaskStatus()
    // What runs at once and is never alone needs no queue.
    guard decodes || shared.value.executor.run != nil || shared.value.onProgress != nil else {
      let order = order(
        call, status: status, makeSink: makeSink, completion: .atOnce { completion($0.converted(convert)) })
      return HTTPTask(order, status, engines.inbox(of: order.id), isSuspended: isSuspended)
    }
    let callbacks = CallbackQueue(shared.value)
    let order = order(
      call, callbacks: callbacks, status: status, makeSink: makeSink,
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
    return HTTPTask(order, status, engines.inbox(of: order.id), isSuspended: isSuspended)
  }
}

/// Requests that are awaited. A Swift task that is cancelled cancels its request.
extension HTTPSessionManager {
  /// Sends a request, and waits for its response, which is kept in memory.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: What is sent with it. Default: nil.
  ///   - options: Those that are not set are the session's.
  public func data(
    for request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(to: prepare(request, body, options)) { reply throws(HTTPError) in reply.with(reply.value.data) }
  }

  /// Sends a body, and waits for the response, which is kept in memory.
  ///
  /// - Parameters:
  ///   - body: What is sent.
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. A path or a URL
  ///     means POST.
  ///   - options: Those that are not set are the session's.
  public func upload(
    _ body: HTTPBody, with request: some RequestConvertible, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(to: prepare(request, body, options, .upload)) { reply throws(HTTPError) in
      reply.with(reply.value.data)
    }
  }

  /// Sends a request, and waits until its response is a whole file.
  ///
  /// A response that is no success is an error, and no file. A file that cannot be put into its place is also an error.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: What is sent with it. Default: nil.
  ///   - destination: Where the file goes.
  ///   - options: Those that are not set are the session's.
  public func download(
    _ request: some RequestConvertible, body: HTTPBody? = nil, to destination: HTTPDestination,
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<URL> {
    let call = prepare(request, body, options, .download)
    let isFlushed = call.options.flushesFiles
    return try await reply(to: call, { reply throws(HTTPError) in reply.with(try reply.value.file) }) { _ in
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
