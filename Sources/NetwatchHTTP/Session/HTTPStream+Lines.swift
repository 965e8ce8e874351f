import FoundationEssentials

extension HTTPStream {
  /// The lines of the body, each of at most 1 MiB, for a single reader, like ``body``.
  public var lines: Lines { lines(maximumBytes: 1_024 * 1_024) }

  /// Returns the lines of the body, for a single reader, like ``body``.
  ///
  /// - Parameter maximumBytes: The most bytes of a line. A longer line fails with `responseTooLarge`.
  public func lines(maximumBytes: Int) -> Lines {
    Lines(body: body, splitter: RecordSplitter(maximumBytes: maximumBytes))
  }

  /// The lines of a body, without their line ends, for a single reader. A line is delivered as soon as its end has arrived.
  ///
  /// A line ends with LF or CRLF, and the last line with the body. The text is read as UTF-8: invalid bytes become U+FFFD, and
  /// a byte order mark at the beginning is removed. If the body fails, its complete lines come first, then the error. The
  /// request is cancelled once the lines and all iterators of them are released.
  public struct Lines: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = String
    /// The error of the request, or `responseTooLarge` for a line that is too long.
    public typealias Failure = HTTPError

    let body: Body
    let splitter: RecordSplitter

    /// An iterator over the lines of a body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      var records: RecordIterator

      /// Waits for the next line, and returns it. Returns nil after the last line, and after an error.
      public mutating func next() async throws(HTTPError) -> String? {
        try await records.next().map { String(decoding: $0, as: UTF8.self) }
      }

      /// Waits for the next line, and returns it. Returns nil after the last line, and after an error.
      ///
      /// - Parameter isolation: The actor of the caller.
      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> String? {
        try await next()
      }
    }

    /// Returns an iterator over the lines.
    public func makeAsyncIterator() -> Iterator {
      Iterator(records: RecordIterator(body: body.makeAsyncIterator(), splitter: splitter))
    }
  }
}

/// Reads a body record by record.
struct RecordIterator: Sendable {
  private var body: HTTPStream.Body.Iterator
  private var splitter: RecordSplitter
  private var isOver = false

  var isSequence: Bool { splitter.isSequence }

  init(body: HTTPStream.Body.Iterator, splitter: RecordSplitter) {
    self.body = body
    self.splitter = splitter
  }

  /// Returns the next record; nil at the end and after a failure.
  mutating func next() async throws(HTTPError) -> Data? {
    guard !isOver else { return nil }
    do throws(HTTPError) {
      while true {
        if let record = try splitter.next() { return record }
        guard let part = try await body.next() else { break }
        splitter.append(part)
      }
    } catch {
      isOver = true
      throw error
    }
    isOver = true
    return splitter.last()
  }
}
