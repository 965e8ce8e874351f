import HTTPTypes
import NetwatchHTTP
import NetwatchLibC

/// The reason why there is no file, as a sentence.
struct GetFailure: Error, Hashable, CustomStringConvertible {
  let description: String
  /// Whether another attempt may succeed.
  var mayPass = false

  init(_ description: String) { self.description = description }

  /// - Parameters:
  ///   - path: The file as the user has named it.
  ///   - pins: Whether the user has given pins.
  init(_ error: HTTPError, _ address: WebAddress, _ path: String, pins: Bool) {
    switch error.kind {
    // Some failures are no error of the system, such as a name that belongs to a folder or a pipe.
    case .fileFailed where error.code == 0: self.init("cannot write \(path): \(error.message)")
    case .fileFailed: self.init(error.code, path)
    case .badServerResponse: self.init(response: error)
    default: self.init(Self.sentence(error, address, pins: pins))
    }
    switch error.kind {
    case .timedOut, .notResolved, .cannotConnect, .connectionLost, .pathLost: mayPass = true
    case .badServerResponse: mayPass = [408, 429, 500, 502, 503, 504].contains(error.response?.status.code)
    default: break
    }
  }

  /// The failure of a system call on a file.
  init(_ code: CInt, _ path: String) {
    switch code {
    case EEXIST: self.init("\(path) is there already; --force replaces it, and --output names another")
    case EWOULDBLOCK: self.init("another download writes into \(path) at this moment")
    case ENOENT, ENOTDIR: self.init("there is no folder for \(path)")
    case EACCES, EPERM: self.init("no permission to write \(path)")
    case ENOSPC, EDQUOT: self.init("no room is left for \(path)")
    case EFBIG: self.init("no room is left for \(path): a file may not become larger here (see ulimit -f)")
    default: self.init(unsafe "cannot write \(path): \(String(cString: strerror(code)))")
    }
  }

  private init(response error: HTTPError) {
    if let status = error.response?.status, status.kind != .successful {
      // Servers send no reason phrase over HTTP/2.
      let known = Self.wellKnown.first { $0.code == status.code }?.reasonPhrase ?? ""
      let reason = status.reasonPhrase.isEmpty ? known : status.reasonPhrase
      self.init("the server answers \(status.code)\(reason.isEmpty ? "" : " \(reason)")")
    } else {
      self.init(error.message)
    }
  }

  private static let wellKnown: [HTTPResponse.Status] = [
    .badRequest, .unauthorized, .forbidden, .notFound, .gone, .tooManyRequests, .internalServerError, .badGateway,
    .serviceUnavailable, .gatewayTimeout,
  ]

  private static func sentence(_ error: HTTPError, _ address: WebAddress, pins: Bool) -> String {
    let host = address.host
    switch error.kind {
    case .timedOut: return "\(host) has said nothing for a minute"
    case .notResolved: return "\(host) is not found"
    case .cannotConnect: return "no connection to \(host): it is refused, or there is no way there"
    case .pathLost: return "\(host) cannot be reached: \(error.message)"
    case .connectionLost: return "the connection to \(host) was lost: \(error.message)"
    case .serverCertificateUntrusted:
      let reason = error.message.replacing("SSL certificate problem: ", with: "")
      return "\(host) is not trusted, so no request was sent: \(reason)"
    case .secureConnectionFailed: return "no secure connection to \(host): \(error.message)"
    case .tooManyRedirects: return "\(host) redirects too often"
    case .badURL where error.operation == "redirect":
      return pins
        ? "\(host) redirects to a URL without https, so --pin cannot check the server"
        : "\(host) redirects to a URL that is neither http nor https"
    case .badURL: return "this URL cannot be asked for: \(error.message)"
    case .cannotDecodeContentData where error.operation == "print":
      return "this is no text, and would upset the terminal; name a file with --output"
    case .cannotDecodeContentData: return "what \(host) has sent is damaged: \(error.operation): \(error.message)"
    default:
      // The user knows what was asked for.
      var error = error
      error.request = nil
      return error.description
    }
  }
}
