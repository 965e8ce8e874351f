import FoundationEssentials

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
