import Dispatch
import Foundation
import NetwatchHTTP

extension HTTPBody {
  /// Returns a body with the content of an input stream.
  ///
  /// The stream is read on a separate queue, at most 128 KiB ahead. A stream that blocks delays this request only.
  ///
  /// - Parameters:
  ///   - length: The length in bytes. Bytes after it are not read, and an earlier end fails the request. Nil if it is not
  ///     known; then the body is sent in chunks and cannot be a part of a form.
  ///   - contentType: The content type. Default: nil, none.
  ///   - open: Returns a new stream, which is then opened and closed for you. Called each time that the body has to be sent,
  ///     for example after a redirect.
  public static func stream(
    length: Int64?, contentType: String? = nil, open: @escaping @Sendable () -> InputStream?
  ) -> HTTPBody {
    .sequence(length: length, contentType: contentType) {
      let file = StreamFile(length: length, open)
      return AsyncThrowingStream { try await file.next() }
    }
  }
}

/// A stream that is read in chunks, only on its own queue.
private actor StreamFile {
  private static let chunkSize = 64 * 1_024

  private let executor = QueueExecutor()
  private let open: @Sendable () -> InputStream?
  private var stream: InputStream?
  /// The number of bytes left to read. Nil if the end of the stream decides.
  private var left: Int64?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  init(length: Int64?, _ open: @escaping @Sendable () -> InputStream?) {
    left = length
    self.open = open
  }

  isolated deinit { stream?.close() }

  /// Returns the next chunk, and blocks while the stream blocks. Nil at the end.
  func next() throws(HTTPError) -> Data? {
    guard left != 0 else { return nil }
    if stream == nil {
      stream = open()
      stream?.open()
    }
    guard let stream else { throw HTTPError(.fileFailed, "open a stream", message: "there is none") }
    let most = min(Self.chunkSize, left.map { Int(clamping: $0) } ?? .max)
    var bytes = [UInt8](repeating: 0, count: most)
    let count = unsafe stream.read(&bytes, maxLength: most)
    guard count >= 0 else {
      let error = stream.streamError
      throw HTTPError(.fileFailed, "read a stream", message: error.map { "\($0)" } ?? "", underlying: error)
    }
    if count == 0, let left {
      throw HTTPError(.cannotEncodeRequest, "read a stream", message: "it ends \(left) bytes too early")
    }
    left = left.map { $0 - Int64(count) }
    return count == 0 ? nil : Data(bytes.prefix(count))
  }
}

/// Runs an actor on a queue, so that it may block without occupying a thread of Swift's pool.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "netwatch.stream")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
