import HTTPTypes

/// The parts of a server's response that matter to a download.
struct ResumeAnswer: Hashable, Sendable {
  var status: Int
  /// The length of the body. Nil if it is not known before the end.
  var length: Int64?
  var contentRange: String?
  var entityTag: String?
  var lastModified: String?
  var date: String?
}

extension ResumeAnswer {
  init(_ response: HTTPResponse, length: Int64?) {
    let fields = response.headerFields
    self.init(
      status: response.status.code, length: length, contentRange: fields.singleValue(.contentRange),
      entityTag: fields.singleValue(.eTag),
      lastModified: fields.singleValue(.lastModified), date: fields.singleValue(.date))
  }

  var validator: ResumeData.Validator? {
    ResumeData.Validator(entityTag: entityTag, lastModified: lastModified, date: date)
  }

  /// Whether the response says that its body is a part of the file. With status 200 it would be taken for the whole file.
  var isPart: Bool {
    guard let range = contentRange.flatMap(ContentRange.init), let bytes = range.bytes else { return false }
    return bytes.lowerBound > 0 || range.total.map { bytes.upperBound < $0 } ?? false
  }

  /// Returns whether the response contradicts what is known of the file. A field that is missing contradicts nothing.
  func contradicts(_ validator: ResumeData.Validator) -> Bool {
    switch validator {
    case .entityTag(let tag): entityTag.map { $0 != tag } ?? false
    case .lastModified(let date): lastModified.map { $0 != date } ?? false
    }
  }

  /// Returns whether the response confirms that the file is unchanged.
  func confirms(_ validator: ResumeData.Validator) -> Bool {
    switch validator {
    case .entityTag(let tag): entityTag == tag
    case .lastModified(let date): lastModified == date
    }
  }
}
