import FoundationEssentials
import HTTPTypes

/// A transport that delivers a response from a cache.
struct CachedTransport: HTTPTransport {
  let response: HTTPResponse
  /// The stored response; nil for a response without a body.
  let answer: CachedAnswer?

  func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer {
    HTTPTransportAnswer(response.status, headerFields: response.headerFields, parts: Parts(answer: answer))
  }

  private struct Parts: AsyncSequence, Sendable {
    let answer: CachedAnswer?

    func makeAsyncIterator() -> Iterator { Iterator(answer: answer) }

    struct Iterator: AsyncIteratorProtocol {
      private static let size = 64 * 1_024

      let answer: CachedAnswer?
      private var position: Int64 = 0

      init(answer: CachedAnswer?) { self.answer = answer }

      /// - Throws: `fileFailed` if the file was truncated after it was found.
      mutating func next() async throws(HTTPError) -> Data? {
        guard let answer, position < answer.bodyCount else { return nil }
        var part = Data(count: Int(Swift.min(Int64(Self.size), answer.bodyCount - position)))
        let start = position
        let read = unsafe part.withUnsafeMutableBytes { room -> Result<Int, HTTPError> in
          do throws(HTTPError) {
            return .success(try unsafe answer.read(into: room, at: start))
          } catch {
            return .failure(error)
          }
        }
        let count = try read.get()
        guard count > 0 else {
          throw HTTPError(.fileFailed, "read \(answer.answer.url)", message: "the file in the cache was cut")
        }
        position += Int64(count)
        return part.prefix(count)
      }
    }
  }
}
