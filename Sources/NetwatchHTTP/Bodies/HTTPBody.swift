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

extension HTTPBody {
  /// Reads the whole body into memory, for an ``HTTPTransport``. A body made from a sequence can be read once only.
  ///
  /// - Returns: The bytes of the body.
  /// - Throws: The error of reading, such as `fileFailed`; `cancelled` if the Swift task is cancelled.
  public func data() async throws(HTTPError) -> Data {
    let news = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let source = try open { news.continuation.yield() }
    var data = Data()
    var room = [UInt8](repeating: 0, count: 65_536)
    var iterator = news.stream.makeAsyncIterator()
    while !Task.isCancelled {
      switch unsafe room.withUnsafeMutableBytes({ unsafe source.supply($0) }) {
      case .bytes(0): return data
      case .bytes(let count): data += room.prefix(count)
      case .paused: await iterator.next()
      case .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "read the body")
      }
    }
    throw HTTPError(.cancelled, "read the body")
  }
}

extension HTTPBody {
  /// Writes the whole body to a file, which gets its name when it is complete.
  ///
  /// - Parameter isFlushed: Whether the file is flushed to its disk before it gets its name. Default: false.
  /// - Returns: The file as a body of the same type and encoding.
  /// - Throws: `fileFailed`, the error of the body, or `cancelled` if the Swift task is cancelled.
  func write(to url: URL, replacesExisting: Bool, isFlushed: Bool = false) async throws(HTTPError) -> HTTPBody {
    let (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var wakes = news.makeAsyncIterator()
    let file = try NewFile(for: url, replacesExisting: replacesExisting)
    let source = try open { continuation.yield() }
    var room = [UInt8](repeating: 0, count: 64 * 1_024)
    var left = length ?? .max
    while left > 0 {
      guard !Task.isCancelled else { throw HTTPError(.cancelled, "write \(url.lastPathComponent)") }
      let most = Int(min(left, Int64(room.count)))
      let supply = unsafe room.withUnsafeMutableBytes {
        unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: $0[..<most]))
      }
      switch supply {
      case .paused: _ = await wakes.next()
      case .failed: throw source.failure ?? HTTPError(.cannotEncodeRequest, "write \(url.lastPathComponent)")
      case .bytes(0):
        guard length == nil else {
          throw HTTPError(
            .cannotEncodeRequest, "write \(url.lastPathComponent)",
            message: "the body ends \(left) bytes before the length that was declared")
        }
        left = 0
      case .bytes(let count):
        try write(room, count, to: file)
        left -= Int64(count)
      }
    }
    try file.place(isFlushed: isFlushed)
    return try .file(url, contentType: contentType, contentEncoding: contentEncoding)
  }

  private func write(_ room: [UInt8], _ count: Int, to file: NewFile) throws(HTTPError) {
    do {
      try unsafe room.withUnsafeBytes { try unsafe file.write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    } catch let error as HTTPError {
      throw error
    } catch {
      throw HTTPError(.fileFailed, "write", underlying: error)
    }
  }
}

/// The content type of a file by the extension of its name. The types are from IANA's registry, else those that web servers
/// use.
extension HTTPBody {
  private static let contentTypes = [
    // Text and data.
    "atom": "application/atom+xml", "css": "text/css", "csv": "text/csv", "dtd": "application/xml-dtd",
    "geojson": "application/geo+json", "gpx": "application/gpx+xml", "htm": "text/html", "html": "text/html",
    "ics": "text/calendar", "js": "text/javascript", "json": "application/json", "jsonl": "application/jsonl",
    "jsonld": "application/ld+json", "kml": "application/vnd.google-earth.kml+xml",
    "kmz": "application/vnd.google-earth.kmz", "log": "text/plain", "map": "application/json", "md": "text/markdown",
    "mjs": "text/javascript", "pem": "application/x-pem-file", "plist": "application/x-plist",
    "rss": "application/rss+xml", "rtf": "application/rtf", "sql": "application/sql",
    "sqlite": "application/vnd.sqlite3", "srt": "application/x-subrip", "tex": "application/x-tex",
    "toml": "application/toml", "tsv": "text/tab-separated-values", "txt": "text/plain", "vcf": "text/vcard",
    "vtt": "text/vtt", "wasm": "application/wasm", "webmanifest": "application/manifest+json",
    "xhtml": "application/xhtml+xml", "xml": "application/xml", "xsl": "application/xslt+xml",
    "yaml": "application/yaml", "yml": "application/yaml",
    // Certificates and keys.
    "cer": "application/pkix-cert", "crl": "application/pkix-crl", "crt": "application/x-x509-ca-cert",
    "csr": "application/pkcs10", "der": "application/x-x509-ca-cert", "p10": "application/pkcs10",
    "p12": "application/x-pkcs12", "p7b": "application/x-pkcs7-certificates", "p7c": "application/pkcs7-mime",
    "p7m": "application/pkcs7-mime", "p7s": "application/pkcs7-signature", "p8": "application/pkcs8",
    "pfx": "application/x-pkcs12",
    // Documents.
    "azw3": "application/vnd.amazon.mobi8-ebook", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "eps": "application/postscript", "epub": "application/epub+zip", "mobi": "application/x-mobipocket-ebook",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
    "pdf": "application/pdf", "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "ps": "application/postscript", "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    // Images and fonts.
    "apng": "image/apng", "avif": "image/avif", "bmp": "image/bmp", "dng": "image/x-adobe-dng", "gif": "image/gif",
    "heic": "image/heic", "heif": "image/heif", "ico": "image/vnd.microsoft.icon", "jp2": "image/jp2",
    "jpeg": "image/jpeg", "jpg": "image/jpeg", "jxl": "image/jxl", "png": "image/png",
    "psd": "image/vnd.adobe.photoshop", "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff",
    "webp": "image/webp", "xbm": "image/x-xbitmap", "otf": "font/otf", "ttc": "font/collection", "ttf": "font/ttf",
    "woff": "font/woff",
    "woff2": "font/woff2",
    // Sound and video.
    "aac": "audio/aac", "aif": "audio/aiff", "aiff": "audio/aiff", "avi": "video/x-msvideo", "flac": "audio/flac",
    "m3u8": "application/vnd.apple.mpegurl", "m4a": "audio/mp4", "m4v": "video/x-m4v", "mid": "audio/midi",
    "midi": "audio/midi", "mkv": "video/matroska", "mov": "video/quicktime", "mp3": "audio/mpeg",
    "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg", "oga": "audio/ogg", "ogg": "audio/ogg",
    "ogv": "video/ogg", "opus": "audio/ogg", "wav": "audio/wav", "weba": "audio/webm", "webm": "video/webm",
    "wma": "audio/x-ms-wma", "wmv": "video/x-ms-wmv", "3gp": "video/3gpp",
    // Archives and programs.
    "7z": "application/x-7z-compressed", "apk": "application/vnd.android.package-archive",
    "br": "application/x-brotli", "bz2": "application/x-bzip2",
    "deb": "application/vnd.debian.binary-package", "exe": "application/vnd.microsoft.portable-executable",
    "gz": "application/gzip", "iso": "application/x-iso9660-image", "jar": "application/java-archive",
    "rar": "application/vnd.rar", "rpm": "application/x-rpm", "sh": "application/x-sh", "tar": "application/x-tar",
    "tgz": "application/gzip", "torrent": "application/x-bittorrent", "xz": "application/x-xz",
    "zip": "application/zip", "zst": "application/zstd",
  ]

  /// Returns the usual extension for a type: the one with the name of the type, else the shortest. Nil for an unknown type.
  static func fileEnding(of contentType: String) -> String? {
    // The shortest would be `log`.
    if contentType == "text/plain" { return "txt" }
    let endings = contentTypes.lazy.filter { $0.value == contentType }.map(\.key)
    let name = contentType.split(separator: "/").last.map(String.init)
    return endings.first { $0 == name } ?? endings.min { ($0.count, $0) < ($1.count, $1) }
  }

  /// Returns the type for a file's name. Nil if it has no extension, or an unknown one.
  static func contentType(ofFile name: String) -> String? {
    let parts = name.split(separator: ".")
    return parts.count > 1 ? parts.last.flatMap { contentTypes[$0.lowercased()] } : nil
  }
}
