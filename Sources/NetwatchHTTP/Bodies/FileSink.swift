import FoundationEssentials
import Glibc
import HTTPTypes

/// Writes the body into a new file beside its destination, and puts it there when it is whole.
final class FileSink: BodySink {
  private let destination: HTTPDestination
  private let isFlushed: Bool
  private var target: URL?
  private var partial: (file: OpenFile, path: String)?

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
    let path = target.path(percentEncoded: false)
    guard target.isFileURL else { throw HTTPError(.fileFailed, "download to \(target)", message: "not a file") }
    if unsafe access(path, F_OK) == 0 {
      if !destination.replacesExisting {
        errno = EEXIST
        throw HTTPError(file: path, "download to")
      }
    } else if errno == ENAMETOOLONG {
      throw HTTPError(file: path, "download to")
    }
    let suffix = ".\(UInt32.random(in: 0...UInt32.max)).part"
    let name = OpenFile.companion(of: path, suffix: suffix) + suffix
    self.target = target
    partial = (try OpenFile(creating: name), name)
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance {
    guard let partial else { return .refused }
    var written = 0
    while written < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = unsafe write(partial.file.number, rest.baseAddress, rest.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw HTTPError(file: partial.path, "write")
      }
      written += count
    }
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
