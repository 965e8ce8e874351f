import NetwatchEventLoop

/// What is known of a download that was paused or broken off: enough to go on with it, in this process or another.
///
/// Where it comes from, it may have been changed: nothing but what a server could have sent is decoded.
public struct ResumeData: Hashable, Sendable {
  /// What the server has to find unchanged before it sends the rest.
  public enum Validator: Hashable, Sendable {
    /// A strong one, with its quotes.
    case entityTag(String)
    /// As the server has written it.
    case lastModified(String)

    /// As it stands in `If-Range`.
    public var text: String {
      switch self {
      case .entityTag(let text), .lastModified(let text): text
      }
    }
  }

  /// Of the request, without a fragment.
  public let url: String
  /// The bytes that have come.
  public let offset: Int64
  public let validator: Validator
  /// Nil where the server has not said how long the whole is.
  public let total: Int64?

  /// Nil for what cannot be: an offset behind the end, a validator that no server may send.
  public init?(url: String, offset: Int64, validator: Validator, total: Int64?) {
    guard Self.isURL(url), offset >= 0, total.map({ $0 >= offset }) ?? true, validator.isSound else { return nil }
    self.url = url
    self.offset = offset
    self.validator = validator
    self.total = total
  }

  /// Whether a request for this URL may go on with it: for the same URL, or for one that differs in its query alone, such as in a
  /// signature that is new each time. Then the file has to have an entity tag: two files may have been changed in one second.
  func isFor(_ url: String) -> Bool {
    if url == self.url { return true }
    guard case .entityTag = validator else { return false }
    return url.prefix { $0 != "?" } == self.url.prefix { $0 != "?" }
  }

  private static func isURL(_ text: String) -> Bool {
    (text.hasPrefix("http://") || text.hasPrefix("https://")) && text.utf8.count <= 65_536
      && text.utf8.allSatisfy { 0x21...0x7e ~= $0 }
  }
}

extension ResumeData.Validator {
  /// A longer one is not worth keeping.
  private static let mostBytes = 1_024

  /// The best one that an answer gives: a strong entity tag, or else a date that is strong by RFC 9110.
  init?(entityTag: String?, lastModified: String?, date: String?) {
    if let entityTag, Self.entityTag(entityTag).isSound {
      self = .entityTag(entityTag)
      return
    }
    // What was changed in the second in which it was sent may be changed once more, and have the same date.
    guard let lastModified, let changed = CivilTime(httpDate: lastModified), let date,
      let sent = CivilTime(httpDate: date), changed.secondsSince1970 < sent.secondsSince1970
    else { return nil }
    self = .lastModified(lastModified)
  }

  /// Whether it may be written into a header field, and means what it should.
  var isSound: Bool {
    switch self {
    case .entityTag(let text):
      let bytes = text.utf8
      return 2...Self.mostBytes ~= bytes.count && bytes.first == UInt8(ascii: "\"")
        && bytes.last == UInt8(ascii: "\"")
        && bytes.dropFirst().dropLast().allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "\"") }
    case .lastModified(let text): return CivilTime(httpDate: text) != nil
    }
  }
}

extension ResumeData: Codable {
  private static let version = 1

  private enum CodingKeys: String, CodingKey {
    case version, url, offset, total
    case entityTag = "etag"
    case lastModified = "last_modified"
  }

  /// - Throws: also for another version, and for what cannot be.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    let version = try values.decode(Int.self, forKey: .version)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(forKey: .version, in: values, debugDescription: "unknown: \(version)")
    }
    let validator =
      if let tag = try values.decodeIfPresent(String.self, forKey: .entityTag) {
        Validator.entityTag(tag)
      } else {
        Validator.lastModified(try values.decode(String.self, forKey: .lastModified))
      }
    guard
      let data = ResumeData(
        url: try values.decode(String.self, forKey: .url), offset: try values.decode(Int64.self, forKey: .offset),
        validator: validator, total: try values.decodeIfPresent(Int64.self, forKey: .total))
    else { throw DecodingError.dataCorruptedError(forKey: .url, in: values, debugDescription: "this cannot be") }
    self = data
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(Self.version, forKey: .version)
    try values.encode(url, forKey: .url)
    try values.encode(offset, forKey: .offset)
    try values.encodeIfPresent(total, forKey: .total)
    switch validator {
    case .entityTag(let text): try values.encode(text, forKey: .entityTag)
    case .lastModified(let text): try values.encode(text, forKey: .lastModified)
    }
  }
}
