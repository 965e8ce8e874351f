/// What a server has answered to a probe, as far as that is known, and what it proves.
package struct ProbeAnswer: Hashable, Sendable {
  /// Of HTTP; nil until one has come.
  package var status: Int?
  /// What the body has to begin with; nil where there is to be none.
  private let expected: [UInt8]?
  private var body: [UInt8] = []
  private var isWhole = false

  /// - Parameter expected: what the body of a 200 has to begin with; nil expects a 204, or a 200 without a body.
  package init(expecting expected: [UInt8]?) { self.expected = expected }

  /// Keeps no more of the body than matters.
  package mutating func append(body bytes: some Sequence<UInt8>) {
    body += bytes.prefix(max(expected?.count ?? 0, 1) - body.count)
  }

  /// Nothing more comes.
  package mutating func end() { isWhole = true }

  /// The server sends whoever asks elsewhere. 300 and 304 say nothing of where to go.
  package var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  /// What it proves; nil where the rest of the body will tell.
  package var access: InternetAccess? {
    switch status {
    case nil: isWhole ? .absent : nil
    case _ where isRedirect: .portal
    case 511: .portal
    case 200: accessByBody
    case 204: expected == nil ? .full : .unknown
    default: .unknown
    }
  }

  private var accessByBody: InternetAccess? {
    let expected = expected ?? []
    if expected.isEmpty {
      if !body.isEmpty { return .portal }
      return isWhole ? .full : nil
    }
    if body.starts(with: expected) { return .full }
    return isWhole || !expected.starts(with: body) ? .portal : nil
  }
}
