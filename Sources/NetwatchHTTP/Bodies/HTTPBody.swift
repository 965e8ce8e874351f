import FoundationEssentials
import HTTPTypes

/// The body of a request.
public struct HTTPBody: Sendable {
  /// The length in bytes. Nil if it is not known before the end; then the body is sent in chunks.
  ///
  /// Exactly this many bytes are sent. A longer body is cut. A shorter one fails the task with `cannotEncodeRequest` and closes
  /// the connection.
  public let length: Int64?
  /// Whether there is nothing to send. A body of unknown length is not empty.
  var isEmpty: Bool { length == 0 }
  /// The content type, used if the request has no `Content-Type` field. Nil for none.
  public let contentType: String?
  /// The coding of the body, such as `gzip`, which is sent as `Content-Encoding`. Nil for none. See ``compressed()``.
  public let contentEncoding: String?
  /// The place of the bytes, if it can be shown to a person.
  let place: Place
  /// Opens the body for sending. `wake` is called when a paused source has bytes again.
  let open: @Sendable (_ wake: @escaping @Sendable () -> Void) throws(HTTPError) -> any BodySource

  enum Place: Sendable {
    case memory(Data)
    /// The path of a file.
    case file(String)
    /// The bytes are made while they are sent.
    case elsewhere
  }

  /// Creates a body from a source.
  ///
  /// - Parameters:
  ///   - length: The length in bytes. Nil if it is not known.
  ///   - contentType: The content type. Nil for none.
  ///   - open: Opens the source. The source calls `wake` when it was paused and has bytes again.
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

  /// An empty body without a type.
  public static var empty: HTTPBody { .data(Data()) }

  /// Returns a body with bytes in memory.
  ///
  /// - Parameters:
  ///   - data: The bytes.
  ///   - contentType: The content type. Default: nil, none.
  public static func data(_ data: Data, contentType: String? = nil) -> HTTPBody {
    .data(data, contentType: contentType, contentEncoding: nil)
  }

  static func data(_ data: Data, contentType: String?, contentEncoding: String?) -> HTTPBody {
    HTTPBody(
      length: Int64(data.count), contentType: contentType, contentEncoding: contentEncoding, at: .memory(data)
    ) { _ in DataSource(data) }
  }

  /// Returns a body with the content of a file, which is read while it is sent. Its length is the present size of the file.
  ///
  /// - Parameters:
  ///   - url: The URL of the file.
  ///   - contentType: The content type. Default: nil, the type for the extension of the file's name, or none for an unknown
  ///     extension.
  /// - Throws: `fileFailed` if the file cannot be read now, or is not a regular file.
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
