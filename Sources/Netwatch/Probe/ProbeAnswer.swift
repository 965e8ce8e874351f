/// The answer of a server to a probe, as far as it is known, and what it proves.
package struct ProbeAnswer: Hashable, Sendable {
  /// The HTTP status. Nil until one has come.
  package var status: Int?
  /// The bytes that the body has to begin with. Nil if there is to be no body.
  private let expected: [UInt8]?
  private var body: [UInt8] = []
  private var isWhole = false

  /// Creates an answer without content.
  ///
  /// - Parameter expected: The bytes that the body of a 200 has to begin with. Nil expects a 204, or a 200 without a body.
  package init(expecting expected: [UInt8]?) { self.expected = expected }

  /// Adds a part of the body. Only the bytes that matter are kept.
  package mutating func append(body bytes: some Sequence<UInt8>) {
    body += bytes.prefix(max(expected?.count ?? 0, 1) - body.count)
  }

  /// Ends the body.
  package mutating func end() { isWhole = true }

  /// Whether the server redirects the request. 300 and 304 name no other place.
  package var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  /// The result that the answer proves. Nil if that depends on the rest of the body.
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
