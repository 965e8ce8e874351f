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
  /// The coding that is on the body, such as `gzip`: the request says so in its `Content-Encoding`. Nil for none. See
  /// ``compressed()``.
  public let contentEncoding: String?
  /// Where the bytes are, if that can be shown to a person.
  let place: Place
  let open: @Sendable (_ wake: @escaping @Sendable () -> Void) throws(HTTPError) -> any BodySource

  enum Place: Sendable {
    case memory(Data)
    /// The path of a file.
    case file(String)
    /// They are made while they are sent.
    case elsewhere
  }

  package init(
    length: Int64?, contentType: String?,
    open: @escaping @Sendable (_ wake: @escaping @Sendable () -> Void) throws(HTTPError) -> any BodySource
  ) {
    self.init(length: length, contentType: contentType, contentEncoding: nil, at: .elsewhere, open: open)
  }

  init(
    length: Int64?, contentType: String?, contentEncoding: String?, at place: Place,
    open: @escaping @Sendable (_ wake: @escaping @Sendable () -> Void) throws(HTTPError) -> any BodySource
  ) {
    self.length = length
    self.contentType = contentType
    self.contentEncoding = contentEncoding
    self.place = place
    self.open = open
  }

  /// No body, of no type.
  public static var empty: HTTPBody { .data(Data()) }

  /// Bytes in memory.
  public static func data(_ data: Data, contentType: String? = nil) -> HTTPBody {
    .data(data, contentType: contentType, contentEncoding: nil)
  }

  static func data(_ data: Data, contentType: String?, contentEncoding: String?) -> HTTPBody {
    HTTPBody(
      length: Int64(data.count), contentType: contentType, contentEncoding: contentEncoding, at: .memory(data)
    ) { _ in DataSource(data) }
  }

  /// A file, which is read while it is sent: as many bytes as are in it now.
  ///
  /// - Parameters:
  ///   - url: of the file.
  ///   - contentType: Default nil: by the ending of the file's name; none for an ending that is not known.
  /// - Throws: `fileFailed` for what cannot be read now.
  public static func file(_ url: URL, contentType: String? = nil) throws(HTTPError) -> HTTPBody {
    try file(url, contentType: contentType, contentEncoding: nil)
  }

  static func file(_ url: URL, contentType: String?, contentEncoding: String?) throws(HTTPError) -> HTTPBody {
    let path = url.path(percentEncoded: false)
    guard url.isFileURL else { throw HTTPError(.fileFailed, "upload \(url)", message: "not a file") }
    guard let length = try OpenFile(reading: path).size() else {
      throw HTTPError(.fileFailed, "upload \(path)", message: "not a regular file")
    }
    let contentType = contentType ?? Self.contentType(ofFile: url.lastPathComponent)
    return HTTPBody(length: length, contentType: contentType, contentEncoding: contentEncoding, at: .file(path)) {
      _ throws(HTTPError) in try FileSource(path: path)
    }
  }
}
