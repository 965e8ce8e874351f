import FoundationEssentials
import HTTPTypes

/// What a request carries.
public struct HTTPBody: Sendable {
  /// The length in bytes. Nil if it is not known before the end: then the body is sent in chunks.
  ///
  /// Exactly this many bytes are sent. A body that has more is cut, and one that has less fails the task with
  /// `cannotEncodeRequest` and closes the connection.
  public let length: Int64?
  /// The type of what is in it, for a request that does not say so itself.
  public let contentType: String?
  let open: @Sendable (_ wake: @escaping @Sendable () -> Void) throws(HTTPError) -> any BodySource

  package init(
    length: Int64?, contentType: String?,
    open: @escaping @Sendable (_ wake: @escaping @Sendable () -> Void) throws(HTTPError) -> any BodySource
  ) {
    self.length = length
    self.contentType = contentType
    self.open = open
  }

  /// No body, of no type.
  public static var empty: HTTPBody { .data(Data()) }

  /// Bytes in memory.
  public static func data(_ data: Data, contentType: String? = nil) -> HTTPBody {
    HTTPBody(length: Int64(data.count), contentType: contentType) { _ in DataSource(data) }
  }

  /// A file, which is read while it is sent: as many bytes as are in it now.
  ///
  /// - Parameters:
  ///   - url: of the file.
  ///   - contentType: Default nil: by the ending of the file's name; none for an ending that is not known.
  /// - Throws: `fileFailed` for what can not be read now.
  public static func file(_ url: URL, contentType: String? = nil) throws(HTTPError) -> HTTPBody {
    let path = url.path(percentEncoded: false)
    guard url.isFileURL else { throw HTTPError(.fileFailed, "upload \(url)", message: "not a file") }
    guard let length = try OpenFile(reading: path).size() else {
      throw HTTPError(.fileFailed, "upload \(path)", message: "not a regular file")
    }
    let contentType = contentType ?? Self.contentType(ofFile: url.lastPathComponent)
    return HTTPBody(length: length, contentType: contentType) { _ throws(HTTPError) in try FileSource(path: path) }
  }
}
