import Foundation
import NetwatchHTTP

extension HTTPBody {
  /// What an input stream has to say.
  ///
  /// It is read on a queue of its own, at most 128 KiB ahead: a stream that lets one wait holds up this request alone.
  ///
  /// - Parameters:
  ///   - length: In bytes. What the stream has beyond it is left unread; an earlier end fails the request. Nil where it
  ///     is not known: then the body is sent in chunks, and can not be a part of a form.
  ///   - open: Makes the stream, which is opened and closed here. Called again for every time that the body has to be
  ///     sent, as for a redirect.
  public static func stream(
    length: Int64?, contentType: String? = nil, open: @escaping @Sendable () -> InputStream?
  ) -> HTTPBody {
    HTTPBody(length: length, contentType: contentType) { wake in StreamSource(length: length, wake: wake, open) }
  }
}

/// A body that is read from a stream, one chunk ahead of what is sent. Belongs to the loop.
final class StreamSource: BodySource {
  private let reopen: @Sendable () -> InputStream?
  private let length: Int64?
  private let wake: @Sendable () -> Void
  private var reader: StreamReader
  private var chunk = Data()
  private var left: Int64?
  private(set) var failure: HTTPError?

  init(length: Int64?, wake: @escaping @Sendable () -> Void, _ open: @escaping @Sendable () -> InputStream?) {
    self.length = length
    self.wake = wake
    reopen = open
    left = length
    reader = StreamReader(open, wake: wake)
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard failure == nil else { return .failed }
    guard left != 0 else { return .bytes(0) }
    if chunk.isEmpty {
      switch reader.poll() {
      case nil: return .paused
      case .success(let next) where !next.isEmpty:
        chunk = next
        reader.read()
      case .success:
        guard let left else { return .bytes(0) }
        return fail(HTTPError(.cannotEncodeRequest, "read a stream", message: "it ends \(left) bytes too early"))
      case .failure(let error): return fail(error)
      }
    }
    let count = min(room.count, chunk.count, left.map { Int(clamping: $0) } ?? .max)
    unsafe room.copyBytes(from: chunk.prefix(count))
    chunk = chunk.dropFirst(count)
    left = left.map { $0 - Int64(count) }
    return .bytes(count)
  }

  private func fail(_ error: HTTPError) -> BodySupply {
    failure = error
    return .failed
  }

  func rewind() -> Bool {
    reader = StreamReader(reopen, wake: wake)
    (chunk, left, failure) = (Data(), length, nil)
    return true
  }
}
