import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchLibC

/// A body that is written to a descriptor as it arrives: a pipe, a terminal or a device. A slow reader makes the server wait.
final class StreamCopy: Retrieval {
  private let progress = Lock((received: Int64(0), total: Int64?.none))
  private let task = Lock<Task<Void, Never>?>(nil)

  var amount: (received: Int64, total: Int64?) { progress.withLock { $0 } }
  /// Nothing can be continued, because written bytes cannot be taken back.
  var kept: Int64? { nil }

  /// - Parameters:
  ///   - refusesBinary: Whether to fail with `cannotDecodeContentData` on data that would disturb a terminal.
  ///   - completion: Called once, on any thread. With the default action of SIGPIPE, a reader that closes the pipe ends the
  ///     process.
  init(
    _ session: HTTPSessionManager, _ request: HTTPRequest, _ options: HTTPTaskOptions, to descriptor: CInt,
    _ name: String, refusesBinary: Bool, completion: @escaping @Sendable (HTTPError?) -> Void
  ) {
    let task = Task {
      do throws(HTTPError) {
        try await self.copy(session, request, options, descriptor, name, refusesBinary)
        completion(nil)
      } catch {
        completion(error)
      }
    }
    self.task.withLock { $0 = task }
  }

  func stop() { task.withLock { $0 }?.cancel() }

  private func copy(
    _ session: HTTPSessionManager, _ request: HTTPRequest, _ options: HTTPTaskOptions, _ descriptor: CInt,
    _ name: String, _ refusesBinary: Bool
  ) async throws(HTTPError) {
    let stream = try await session.stream(request, options: options)
    let response = stream.response
    guard response.status.kind == .successful else {
      var failure = HTTPError(.badServerResponse, "download", code: CInt(clamping: response.status.code))
      failure.response = response
      throw failure
    }
    progress.withLock { $0.total = response.headerFields[.contentLength].flatMap { Int64($0) }.map { max($0, 0) } }
    var chunks = stream.body.makeAsyncIterator()
    while let chunk = try await chunks.next() {
      if refusesBinary, chunk.contains(0) { throw HTTPError(.cannotDecodeContentData, "print") }
      do throws(SystemError) {
        try FileDescriptor.writeAll(chunk.bytes, to: descriptor)
      } catch {
        throw HTTPError(.fileFailed, "write \(name)", code: error.code, message: error.message)
      }
      progress.withLock { $0.received += Int64(chunk.count) }
    }
  }
}
