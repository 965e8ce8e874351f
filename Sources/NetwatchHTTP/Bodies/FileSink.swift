import FoundationEssentials
import Glibc
import HTTPTypes

/// Writes the body into a new file beside its destination, and puts it there when it is whole.
final class FileSink: BodySink {
  private let destination: HTTPDestination
  private let isFlushed: Bool
  private var target: URL?
  private var partial: (file: OpenFile, path: String)?
  private var length: Int64 = 0

  /// - Parameter isFlushed: whether the whole file is written to its disk before it gets its name.
  init(_ destination: HTTPDestination, isFlushed: Bool) {
    self.destination = destination
    self.isFlushed = isFlushed
  }

  deinit { discard() }

  /// An answer that is not the file fails here, so that an error page never lands in it.
  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError) {
    guard response.status.kind == .successful else {
      throw HTTPError(.badServerResponse, "download", code: CInt(response.status.code), message: "\(response.status)")
    }
    let target = destination.place(response)
    let path = try OpenFile.path(of: target, replacesExisting: destination.replacesExisting)
    let suffix = ".\(UInt32.random(in: 0...UInt32.max)).part"
    let name = OpenFile.companion(of: path, suffix: suffix) + suffix
    self.target = target
    partial = (try OpenFile(creating: name), name)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance {
    guard let partial else { return .refused }
    try unsafe partial.file.write(bytes, at: length, named: partial.path)
    length += Int64(bytes.count)
    return .taken
  }

  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody {
    guard failure == nil, let partial, let target else {
      discard()
      return .none
    }
    do throws(HTTPError) {
      let path = target.path(percentEncoded: false)
      if isFlushed, fsync(partial.file.number) != 0 { throw HTTPError(file: partial.path, "fsync") }
      try OpenFile.place(partial.path, at: path, replacesExisting: destination.replacesExisting)
    } catch {
      discard()
      throw error
    }
    self.partial = nil
    return .file(target)
  }

  private func discard() {
    if let partial { _ = unsafe unlink(partial.path) }
    partial = nil
  }
}
