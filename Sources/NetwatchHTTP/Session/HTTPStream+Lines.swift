import FoundationEssentials

extension HTTPStream {
  /// The lines of the body, each of at most 1 MiB. For one reader, like ``body``.
  public var lines: Lines { lines(maximumBytes: 1_024 * 1_024) }

  /// The lines of the body. For one reader, like ``body``.
  ///
  /// - Parameter maximumBytes: The most bytes of a line. A longer one fails with `responseTooLarge`.
  public func lines(maximumBytes: Int) -> Lines {
    Lines(body: body, splitter: RecordSplitter(maximumBytes: maximumBytes))
  }

  /// The lines of a body, without their ends, for one reader. A line is given as soon as its end has come.
  ///
  /// A line ends with LF or CRLF, and the last one with the body. The text is UTF-8: bytes that are not become U+FFFD, and a byte
  /// order mark at the beginning is left out. If the body fails, its whole lines come first, then the error. When nobody holds
  /// the lines or an iterator of them any more, the request is cancelled.
  public struct Lines: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = HTTPError

    let body: Body
    let splitter: RecordSplitter

    public struct Iterator: AsyncIteratorProtocol, Sendable {
      var records: RecordIterator

      public mutating func next() async throws(HTTPError) -> String? {
        try await records.next().map { String(decoding: $0, as: UTF8.self) }
      }

      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> String? {
        try await next()
      }
    }

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

  /// Nil at the end, and behind a failure.
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
