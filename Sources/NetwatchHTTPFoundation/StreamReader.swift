import Dispatch
import Foundation
import Netwatch
import NetwatchHTTP

/// Reads a stream on a queue of its own, one chunk at a time.
final class StreamReader: Sendable {
  private static let chunkSize = 64 * 1_024

  private let file: StreamFile
  private let wake: @Sendable () -> Void
  private let chunk = Lock<Result<Data, HTTPError>?>(nil)

  /// Asks for the first chunk, too.
  init(_ open: @escaping @Sendable () -> InputStream?, wake: @escaping @Sendable () -> Void) {
    file = StreamFile(open)
    self.wake = wake
    read()
  }

  /// Asks for a chunk. ``wake`` is called once it is there.
  func read() {
    Task { [file, weak self] in
      let result = await file.read(upTo: Self.chunkSize)
      guard let self else { return }
      chunk.withLock { $0 = result }
      wake()
    }
  }

  /// The chunk, once; of no bytes at the end. Nil while it is being read.
  func poll() -> Result<Data, HTTPError>? { chunk.withLock { $0.take() } }
}

/// The stream itself, where nothing but the queue touches it.
private actor StreamFile {
  private let executor = QueueExecutor()
  private let open: @Sendable () -> InputStream?
  private var stream: InputStream?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  init(_ open: @escaping @Sendable () -> InputStream?) { self.open = open }

  isolated deinit { stream?.close() }

  /// Waits for as long as the stream does.
  func read(upTo most: Int) -> Result<Data, HTTPError> {
    if stream == nil {
      stream = open()
      stream?.open()
    }
    guard let stream else { return .failure(HTTPError(.fileFailed, "open a stream", message: "there is none")) }
    var bytes = [UInt8](repeating: 0, count: most)
    let count = unsafe stream.read(&bytes, maxLength: most)
    guard count >= 0 else {
      let error = stream.streamError
      return .failure(HTTPError(.fileFailed, "read a stream", message: error.map { "\($0)" } ?? "", underlying: error))
    }
    return .success(Data(bytes.prefix(count)))
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
