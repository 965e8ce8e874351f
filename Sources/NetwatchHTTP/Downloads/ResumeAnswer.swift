import HTTPTypes

/// What matters of a server's answer to a download.
struct ResumeAnswer: Hashable, Sendable {
  var status: Int
  /// Of the body; nil where that is not known before its end.
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
      status: response.status.code, length: length, contentRange: fields[.contentRange], entityTag: fields[.eTag],
      lastModified: fields[.lastModified], date: fields[.date])
  }

  var validator: ResumeData.Validator? {
    ResumeData.Validator(entityTag: entityTag, lastModified: lastModified, date: date)
  }

  /// Whether what it says of the whole contradicts what was said before. What it does not say contradicts nothing.
  func contradicts(_ validator: ResumeData.Validator) -> Bool {
    switch validator {
    case .entityTag(let tag): entityTag.map { $0 != tag } ?? false
    case .lastModified(let date): lastModified.map { $0 != date } ?? false
    }
  }

  /// Whether it says that the whole is what was sent before.
  func confirms(_ validator: ResumeData.Validator) -> Bool {
    switch validator {
    case .entityTag(let tag): entityTag == tag
    case .lastModified(let date): lastModified == date
    }
  }
}
