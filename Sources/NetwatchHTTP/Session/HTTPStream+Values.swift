import FoundationEssentials

extension HTTPStream {
  /// The values of a body that has one JSON text a line (JSON Lines, NDJSON), or that is a sequence of RFC 7464. For one reader,
  /// like ``body``.
  ///
  /// - Parameters:
  ///   - type: what each text is.
  ///   - decoder: Not to be changed afterwards.
  ///   - maximumBytes: The most bytes of a text. Default: 1 MiB. A longer one fails with `responseTooLarge`.
  public func values<Value: Decodable & Sendable>(
    as type: Value.Type, decoder: JSONDecoder = JSONDecoder(), maximumBytes: Int = 1_024 * 1_024
  ) -> Values<Value> {
    Values(body: body, splitter: RecordSplitter(maximumBytes: maximumBytes, readsSequences: true), decoder: decoder)
  }

  /// The decoded values of a body, for one reader. A value is given as soon as its end has come: the end of its line, or in a
  /// sequence of RFC 7464 the beginning of the next one.
  ///
  /// A body that begins with the record separator U+001E is such a sequence. Empty lines are left out. A text that cannot be
  /// decoded fails with `cannotDecodeContentData`, with the text as ``HTTPError/body``; an iterator that is asked again goes on
  /// behind it. When nobody holds the values or an iterator of them any more, the request is cancelled.
  public struct Values<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value
    public typealias Failure = HTTPError

    let body: Body
    let splitter: RecordSplitter
    let decoder: JSONDecoder

    public struct Iterator: AsyncIteratorProtocol, Sendable {
      var records: RecordIterator
      let decoder: JSONDecoder

      public mutating func next() async throws(HTTPError) -> Value? {
        while let record = try await records.next() {
          guard record.contains(where: { !isJSONSpace($0) }) else { continue }
          return try decode(record)
        }
        return nil
      }

      public mutating func next(isolation: isolated (any Actor)?) async throws(HTTPError) -> Value? { try await next() }

      private func decode(_ record: Data) throws(HTTPError) -> Value {
        var failure: HTTPError
        do {
          // The beginning of a longer number is a number, too (RFC 7464, section 2.4).
          guard !records.isSequence || endsClearly(record) else {
            throw HTTPError(.cannotDecodeContentData, "decode \(Value.self)", message: "the text is cut off")
          }
          return try decoder.decode(Value.self, from: record)
        } catch {
          failure =
            error as? HTTPError
            ?? HTTPError(.cannotDecodeContentData, "decode \(Value.self)", message: "\(error)", underlying: error)
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

    public func makeAsyncIterator() -> Iterator {
      Iterator(records: RecordIterator(body: body.makeAsyncIterator(), splitter: splitter), decoder: decoder)
    }
  }
}
