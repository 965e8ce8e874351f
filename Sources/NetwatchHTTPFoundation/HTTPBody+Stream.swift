import Dispatch
import Foundation
import NetwatchHTTP

extension HTTPBody {
  /// What an input stream has to say.
  ///
  /// It is read on a queue of its own, at most 128 KiB ahead: a stream that lets one wait holds up this request alone.
  ///
  /// - Parameters:
  ///   - length: In bytes. What the stream has beyond it is left unread; an earlier end fails the request. Nil where it
  ///     is not known: then the body is sent in chunks, and cannot be a part of a form.
  ///   - open: Makes the stream, which is opened and closed here. Called again for every time that the body has to be
  ///     sent, as for a redirect.
  public static func stream(
    length: Int64?, contentType: String? = nil, open: @escaping @Sendable () -> InputStream?
  ) -> HTTPBody {
    .sequence(length: length, contentType: contentType) {
      let file = StreamFile(length: length, open)
      return AsyncThrowingStream { try await file.next() }
    }
  }
}

/// A stream that is read in chunks, where nothing but its queue touches it.
private actor StreamFile {
  private static let chunkSize = 64 * 1_024

  private let executor = QueueExecutor()
  private let open: @Sendable () -> InputStream?
  private var stream: InputStream?
  /// Of what is to be read; nil where the stream's end decides.
  private var left: Int64?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  init(length: Int64?, _ open: @escaping @Sendable () -> InputStream?) {
    left = length
    self.open = open
  }

  isolated deinit { stream?.close() }

  /// Waits for as long as the stream does. Nil at the end.
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

/// Runs an actor on a queue, so that it may wait without keeping others from running.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "netwatch.stream")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
