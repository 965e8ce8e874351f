import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A response whose body you read while it arrives.
public struct HTTPStream: Sendable {
  /// The head of the response.
  public let response: HTTPResponse
  /// The request of the task, or, after redirects, the last request that was sent. See ``HTTPReply/request``.
  public let request: HTTPRequest
  /// The body of the response, for a single reader.
  public let body: Body
  /// The trailer fields, which the server has sent after the body (RFC 9110, section 6.5). Empty if there are none, and until
  /// the last part of the body has been read.
  ///
  /// Many servers send trailers only if the request has `TE: trailers`. libcurl reads none after a body that has a
  /// `Content-Length`.
  public var trailers: HTTPFields { body.buffer.trailers ?? [:] }

  /// The parts of a body, for a single reader. If the reader is slower than the server, the server has to wait (back-pressure).
  ///
  /// The request is cancelled once the body and all iterators of it are released.
  public struct Body: AsyncSequence, Sendable {
    /// A part of the body.
    public typealias Element = Data
    /// The error of the request.
    public typealias Failure = HTTPError

    let buffer: BodyBuffer
    /// Cancels the request when it is fulfilled, or at the latest when it is released.
    let lease: Promise<Void>

    /// An iterator over the parts of a body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let body: Body

      /// Waits for the next part of the body, and returns it. Returns nil after the last part.
      public mutating func next() async throws(HTTPError) -> Data? { try await body.next() }
      /// Waits for the next part of the body, and returns it. Returns nil after the last part.
      ///
      /// - Parameter isolation: The actor of the caller.
      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> Data? {
        try await body.next()
      }
    }

    /// Returns an iterator over the parts of the body.
    public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    private func next() async throws(HTTPError) -> Data? {
      let result = await withTaskCancellationHandler {
        do throws(HTTPError) {
          return Result<Data?, HTTPError>.success(try await buffer.next())
        } catch {
          return .failure(error)
        }
      } onCancel: {
        lease.fulfill()
      }
      return try result.get()
    }
  }
}

extension HTTPSessionManager {
  /// Sends a request, and returns when the head of its response has arrived, whatever its status is. You read the body while it
  /// arrives.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request, if it fails before the head of the response. A later error is thrown by the body.
  public func stream(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPStream {
    let plan = plan(request, body, options, .stream)
    if let refusal = plan.refusal { throw refusal }
    let buffer = BodyBuffer()
    let place = engines.next()
    let cancel = { @Sendable in place.engine.cancel(place.id) }
    let result = await withTaskCancellationHandler {
      begin(
        plan, place,
        makeSink: { resume in
          buffer.onNews(resume)
          return buffer
        },
        { outcome, end in
          buffer.finish(outcome.map { _ in () }, trailers: (try? outcome.get())?.knownTrailers)
          end.fulfill()
        })
      // The cancellation may have come before there was anything to cancel.
      if Task.isCancelled { cancel() }
      do throws(HTTPError) {
        return Result<HTTPReply<Void>, HTTPError>.success(try await buffer.head())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      cancel()
    }
    let head = try result.get()
    return HTTPStream(
      response: head.response, request: head.request, body: HTTPStream.Body(buffer: buffer, lease: Promise(cancel)))
  }
}

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

extension HTTPStream {
  /// Returns the decoded values of a body that has one JSON text on each line (JSON Lines, NDJSON), or that is a sequence of
  /// JSON texts (RFC 7464). They are for a single reader, like ``body``.
  ///
  /// - Parameters:
  ///   - type: The type of each value.
  ///   - decoder: The decoder of the texts. Do not change it afterwards. Default: a new `JSONDecoder`.
  ///   - maximumBytes: The most bytes of a text. A longer text fails with `responseTooLarge`. Default: 1 MiB.
  public func values<Value: Decodable & Sendable>(
    as type: Value.Type, decoder: JSONDecoder = JSONDecoder(), maximumBytes: Int = 1_024 * 1_024
  ) -> Values<Value> {
    Values(body: body, splitter: RecordSplitter(maximumBytes: maximumBytes, readsSequences: true), decoder: decoder)
  }

  /// The decoded values of a body, for a single reader. A value is delivered as soon as its end has arrived: the end of its
  /// line, or, in a sequence of RFC 7464, the beginning of the next text.
  ///
  /// A body that begins with the record separator U+001E is such a sequence. Empty lines are skipped. A text that cannot be
  /// decoded fails with `cannotDecodeContentData`, and the error has the text as its ``HTTPError/body``. The iterator can be
  /// asked again, and continues after that text. The request is cancelled once the values and all iterators of them are
  /// released.
  public struct Values<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A decoded value.
    public typealias Element = Value
    /// The error of the request, `responseTooLarge` for a text that is too long, or `cannotDecodeContentData`.
    public typealias Failure = HTTPError

    let body: Body
    let splitter: RecordSplitter
    let decoder: JSONDecoder

    /// An iterator over the values of a body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      var records: RecordIterator
      let decoder: JSONDecoder

      /// Waits for the next value, and returns it. Returns nil after the last value.
      ///
      /// - Throws: `cannotDecodeContentData` for a text that is not a value; the next call continues after it. Any other error
      ///   ends the sequence.
      public mutating func next() async throws(HTTPError) -> Value? {
        while let record = try await records.next() {
          guard record.contains(where: { !isJSONSpace($0) }) else { continue }
          return try decode(record)
        }
        return nil
      }

      /// Waits for the next value, and returns it. Returns nil after the last value.
      ///
      /// - Parameter isolation: The actor of the caller.
      /// - Throws: `cannotDecodeContentData` for a text that is not a value; the next call continues after it. Any other error
      ///   ends the sequence.
      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> Value? { try await next() }

      private func decode(_ record: Data) throws(HTTPError) -> Value {
        var failure: HTTPError
        do {
          // A number that was cut off is still a valid number (RFC 7464, section 2.4).
          guard !records.isSequence || endsClearly(record) else {
            throw HTTPError(.cannotDecodeContentData, "decode \(Value.self)", message: "the text is cut off")
          }
          return try decoder.decode(Value.self, from: record)
        } catch {
          failure = HTTPError(decoding: "decode \(Value.self)", error, body: record)
        }
        failure.body = record
        throw failure
      }

      private func endsClearly(_ record: Data) -> Bool {
        guard let first = record.first(where: { !isJSONSpace($0) }), let last = record.last else { return false }
        return "[{\"".utf8.contains(first) || isJSONSpace(last)
      }

      private func isJSONSpace(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }
    }

    /// Returns an iterator over the values.
    public func makeAsyncIterator() -> Iterator {
      Iterator(records: RecordIterator(body: body.makeAsyncIterator(), splitter: splitter), decoder: decoder)
    }
  }
}
