/// What is in a file, by the ending of its name.
enum FileType {
  private static let contentTypes = [
    "avif": "image/avif", "bmp": "image/bmp", "css": "text/css", "csv": "text/csv", "flac": "audio/flac",
    "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html", "html": "text/html",
    "ico": "image/vnd.microsoft.icon", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
    "json": "application/json", "m4a": "audio/mp4", "md": "text/markdown", "mov": "video/quicktime",
    "mp3": "audio/mpeg", "mp4": "video/mp4", "ogg": "audio/ogg", "pdf": "application/pdf",
    "plist": "application/x-plist",
    "png": "image/png", "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
    "txt": "text/plain", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": "application/xml",
    "zip": "application/zip",
  ]

  static func contentType(of fileName: String) -> String {
    let ending = fileName.split(separator: ".").count > 1 ? fileName.split(separator: ".").last : nil
    return ending.flatMap { contentTypes[$0.lowercased()] } ?? "application/octet-stream"
  }
}
