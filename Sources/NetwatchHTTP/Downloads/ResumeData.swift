import NetwatchEventLoop

/// The facts about a paused or interrupted download that are needed to continue it, in this process or in another one.
///
/// The data may have been changed by others, so only values that a server could have sent are decoded.
public struct ResumeData: Hashable, Sendable {
  /// The property by which the server recognizes that the file is unchanged. Only then it sends the rest.
  public enum Validator: Hashable, Sendable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A date of the last change, as the server has written it.
    case lastModified(String)

    /// The text of the validator, as it is sent in `If-Range`.
    public var text: String {
      switch self {
      case .entityTag(let text), .lastModified(let text): text
      }
    }
  }

  /// The URL of the request, without a fragment.
  public let url: String
  /// The number of bytes that were received.
  public let offset: Int64
  /// The property by which the server recognizes that the file is unchanged. Only then it sends the rest.
  public let validator: Validator
  /// The length of the whole file in bytes. Nil if the server has not reported it.
  public let total: Int64?

  /// Creates resume data. Returns nil for values that are not possible, such as an offset after the end of the file, or a
  /// validator that no server may send.
  ///
  /// - Parameters:
  ///   - url: The URL of the request, without a fragment. It must begin with `http://` or `https://`.
  ///   - offset: The number of bytes that were received.
  ///   - validator: The property of the file that must be unchanged.
  ///   - total: The length of the whole file in bytes. Nil if the server has not reported it.
  public init?(url: String, offset: Int64, validator: Validator, total: Int64?) {
    guard Self.isURL(url), offset >= 0, total.map({ $0 >= offset }) ?? true, validator.isSound else { return nil }
    self.url = url
    self.offset = offset
    self.validator = validator
    self.total = total
  }

  /// Returns whether a request for a URL can continue with this data. The URL must be the same, or differ in its query alone,
  /// such as in a signature that is new each time. In the second case the file must have an entity tag, because two files may
  /// have been changed in the same second.
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
  /// The most bytes of an entity tag. A longer one is not kept.
  private static let mostBytes = 1_024

  /// Returns the best validator of a response: a strong entity tag, or else a date that is strong by RFC 9110.
  init?(entityTag: String?, lastModified: String?, date: String?) {
    if let entityTag, Self.entityTag(entityTag).isSound {
      self = .entityTag(entityTag)
      return
    }
    // A file that was changed in the second in which it was sent may be changed again, and keep its date.
    guard let lastModified, let changed = CivilTime(httpDate: lastModified), let date,
      let sent = CivilTime(httpDate: date), changed.secondsSince1970 < sent.secondsSince1970
    else { return nil }
    self = .lastModified(lastModified)
  }

  /// Whether the validator is safe in a header field, and has a meaning.
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

  /// Decodes resume data.
  ///
  /// - Throws: A `DecodingError`, also for another version of the format and for values that are not possible.
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

  /// Encodes the resume data, with the version of the format.
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
