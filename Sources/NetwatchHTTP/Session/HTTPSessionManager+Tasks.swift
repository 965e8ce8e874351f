import FoundationEssentials
import HTTPTypes

/// Tasks with completions. They are created suspended, and `resume()` begins them. No completion runs before `resume()` is
/// called, unless the task is cancelled or the session has ended.
extension HTTPSessionManager {
  /// Creates a suspended task that keeps its response in memory. A response with any status is a success.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  public func dataTask(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(plan(request, body, options), { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// Creates a suspended task that sends a body, and keeps its response in memory. A response with any status is a success.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method of a
  ///     path or a URL is POST.
  ///   - body: The body to send.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  public func uploadTask(
    _ request: some RequestConvertible, from body: HTTPBody, options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(plan(request, body, options, .upload), { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
  }

  /// Creates a suspended task that saves its response as a file, once the response is complete.
  ///
  /// A response with a status outside 200 to 299 is an error (`badServerResponse`). It is also an error if the file cannot be put in
  /// its place. An existing file then stays as it was.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - destination: The place of the file.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  public func downloadTask(
    _ request: some RequestConvertible, body: HTTPBody? = nil, to destination: HTTPDestination,
    options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPReply<URL>, HTTPError>) -> Void
  ) -> HTTPTask {
    let plan = plan(request, body, options, .download)
    let isFlushed = plan.options.flushesFiles
    return task(
      plan, makeSink: { _ in FileSink(destination, isFlushed: isFlushed) },
      { reply throws(HTTPError) in reply.with(try reply.value.file) }, completion)
  }

  /// Creates a task whose completion runs on the executor of its options, after the last report of progress.
  ///
  /// - Parameters:
  ///   - decodes: Whether `convert` may take long. If so, it blocks neither the loop's thread nor the caller's executor.
  ///   - convert: Converts the response. If `decodes` is true, it is called away from the loop's thread.
  func task<Value: Sendable>(
    _ plan: RequestPlan, isSuspended: Bool = true, decodes: Bool = false, makeSink: RequestPlan.MakeSink? = nil,
    _ convert: @escaping @Sendable (HTTPReply<ReceivedBody>) throws(HTTPError) -> HTTPReply<Value>,
    _ completion: @escaping @Sendable (Result<HTTPReply<Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    let callbacks = callbacks(plan.options)
    let onProgress = plan.options.onProgress == nil ? nil : callbacks.report
    return task(plan, isSuspended: isSuspended, onProgress: onProgress, makeSink: makeSink) { outcome, end in
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
    }
  }
}

/// Requests that you await. Cancelling the Swift task cancels the request.
extension HTTPSessionManager {
  /// Sends a request, and returns its response with any status. The body is kept in memory.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func data(
    for request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(to: plan(request, body, options)) { reply throws(HTTPError) in reply.with(reply.value.data) }
  }

  /// Sends a body, and returns the response with any status. The body of the response is kept in memory.
  ///
  /// - Parameters:
  ///   - body: The body to send.
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``. The method of a
  ///     path or a URL is POST.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func upload(
    _ body: HTTPBody, with request: some RequestConvertible, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<Data> {
    try await reply(to: plan(request, body, options, .upload)) { reply throws(HTTPError) in
      reply.with(reply.value.data)
    }
  }

  /// Sends a request, and saves the response as a file. Returns once the file is complete.
  ///
  /// A response with a status outside 200 to 299 is an error (`badServerResponse`). It is also an error if the file cannot be put in
  /// its place. An existing file then stays as it was.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - destination: The place of the file.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func download(
    _ request: some RequestConvertible, body: HTTPBody? = nil, to destination: HTTPDestination,
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<URL> {
    let plan = plan(request, body, options, .download)
    let isFlushed = plan.options.flushesFiles
    return try await reply(to: plan, makeSink: { _ in FileSink(destination, isFlushed: isFlushed) }) {
      reply throws(HTTPError) in reply.with(try reply.value.file)
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
