import FoundationEssentials
import HTTPTypes

extension HTTPRequest {
  /// The longest argument of a program (Linux, `MAX_ARG_STRLEN`).
  private static let longestArgument = 128 * 1_024
  /// The longest body that curl sends without waiting for `100 Continue`.
  private static let longestWithoutExpectation: Int64 = 1_024 * 1_024

  /// Returns the request as a curl command, for example for a bug report. The command is quoted for a POSIX shell and has one
  /// argument per line.
  ///
  /// A body of less than 128 KiB of text in memory is part of the command. For a body from a file, the command has the file's name.
  /// For any other body, it has `@-`, so that curl reads its standard input. Secrets in the URL, in the body or in other fields are
  /// shown.
  ///
  /// - Parameters:
  ///   - body: The body of the request. Default: nil, none.
  ///   - credential: The user and the password for the request. Default: nil, none. The password is shown only if `redacting`
  ///     does not contain `Authorization`.
  ///   - cookies: The cookies of a session. Those that match the URL of the request are included. Default: none.
  ///   - redacting: The fields whose values are hidden. Default: `Authorization`, `Proxy-Authorization` and `Cookie`. Pass an
  ///     empty set to get a command that does the same as the request.
  /// - Returns: The command. If the request has no scheme or host, the URL is incomplete.
  public func cURLDescription(
    body: HTTPBody? = nil, credential: HTTPCredential? = nil, cookies: [SessionCookie] = [],
    redacting: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
  ) -> String {
    let type = body?.contentType
    let body = body.flatMap { $0.isEmpty ? nil : $0 }
    var command = ["curl", "--globoff"]
    command += curlMethod(hasBody: body != nil)
    command += curlFields(of: body, type, cookies, redacting)
    if let credential { command += Self.curlCredential(credential, isShown: !redacting.contains(.authorization)) }
    if let body { command += ["--data-\(Self.curlContent(of: body))"] }
    command.append(Self.quoted(curlURL))
    return command.joined(separator: " \\\n  ")
  }

  private var hasOftenBody: Bool { [.post, .put, .patch].contains(method) }

  private func curlMethod(hasBody: Bool) -> [String] {
    if hasBody { return method == .post ? [] : ["--request \(Self.quoted(method.rawValue))"] }
    if method == .get { return [] }
    if method == .head { return ["--head"] }
    let name = "--request \(Self.quoted(method.rawValue))"
    // With the length 0, as it is sent.
    return hasOftenBody ? [name, "--data ''"] : [name]
  }

  /// The fields of the request, and those that a session adds. curl would add others, which a name without a value prevents.
  private func curlFields(
    of body: HTTPBody?, _ type: String?, _ sessionCookies: [SessionCookie], _ redacting: Set<HTTPField.Name>
  ) -> [String] {
    var fields: [String] = []
    func add(_ name: HTTPField.Name, _ value: String) {
      let value = redacting.contains(name) ? "<redacted>" : value
      fields.append("--header " + Self.quoted(value.isEmpty ? "\(name.rawName);" : "\(name.rawName): \(value)"))
    }
    var cookies: [String] = []
    for field in headerFields {
      switch field.name {
      case .cookie: cookies.append(field.value)
      case .contentLength, .transferEncoding: break
      default: add(field.name, field.value)
      }
    }
    cookies += sessionCookies.filter { $0.isSent(with: self) }.map { "\($0.name)=\($0.value)" }
    if !cookies.isEmpty { add(.cookie, cookies.joined(separator: "; ")) }
    if !headerFields.contains(.userAgent) { fields.append("--header User-Agent:") }
    if !headerFields.contains(.contentType) {
      if let type {
        add(.contentType, type)
      } else if body != nil || hasOftenBody {
        fields.append("--header Content-Type:")
      }
    }
    if let coding = body?.contentEncoding { add(.contentEncoding, coding) }
    if let body, body.length ?? .max > Self.longestWithoutExpectation, !headerFields.contains(.expect) {
      fields.append("--header Expect:")
    }
    if !headerFields.contains(.acceptEncoding), !headerFields.contains(.range) { fields.append("--compressed") }
    return fields
  }

  private static func curlCredential(_ credential: HTTPCredential, isShown: Bool) -> [String] {
    let scheme: String
    switch credential.scheme {
    case .basic: scheme = "--basic"
    case .digest: scheme = "--digest"
    case .any: scheme = "--anyauth"
    // curl wants a user to use the ticket.
    case .negotiate: return ["--negotiate", "--user :"]
    }
    return [scheme, "--user " + quoted("\(credential.user):\(isShown ? credential.password : "<redacted>")")]
  }

  private static func curlContent(of body: HTTPBody) -> String {
    switch body.place {
    case .memory(let data):
      guard data.count < longestArgument, let text = String(validating: data, as: UTF8.self),
        text.unicodeScalars.allSatisfy({
          $0.properties.generalCategory != .control || "\t\r\n".unicodeScalars.contains($0)
        })
      else { return "binary @-" }
      return "raw " + quoted(text)
    case .file(let path): return "binary " + quoted("@\(path)")
    case .elsewhere: return "binary @-"
    }
  }

  /// The URL with spaces and non-ASCII bytes percent-encoded: curl accepts no spaces, and interprets other bytes by its locale.
  private var curlURL: String {
    let text = urlText ?? "\(scheme ?? "https")://\(authority ?? "")\(path ?? "/")"
    var encoded = ""
    for byte in text.utf8 {
      if 0x21...0x7e ~= byte {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }

  private static func quoted(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0.isAlphanumeric || "-_./:=@%+,".utf8.contains($0) }
    if isPlain { return text }
    // Split by scalars, because an accent after a quote would merge with it into one character.
    return "'"
      + text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
      .joined(separator: "'\\''") + "'"
  }
}

extension SessionCookie {
  /// Whether the cookie has not expired and matches the URL of a request (RFC 6265, section 5.4).
  fileprivate func isSent(with request: HTTPRequest) -> Bool {
    guard let host = request.authority.flatMap(Authority.init)?.host.lowercased() else { return false }
    guard host == domain || includesSubdomains && host.hasSuffix(".\(domain)") else { return false }
    // libcurl treats loopback as secure.
    let isConfidential = request.scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(host)
    guard !isSecure || isConfidential, expires.map({ $0 > Date() }) ?? true else { return false }
    let place = String((request.path ?? "/").prefix { $0 != "?" && $0 != "#" })
    return place == path || place.hasPrefix(path.hasSuffix("/") ? path : "\(path)/")
  }
}
