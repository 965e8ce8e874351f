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
