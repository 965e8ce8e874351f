import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A transfer of a background session as its spool keeps it: what to do, when it may be done, and how it has ended.
///
/// Everything that another process needs is in the record. What a file cannot keep, such as a closure, is refused before there is a
/// record. Later versions may add fields; a record whose ``version`` is newer is left to a newer netwatch.
package struct TransferRecord: Codable, Hashable, Sendable {
  /// The newest version of the format that this netwatch understands.
  static let newestVersion = 1

  /// What is transferred, and between which file and the server.
  package enum Kind: String, Codable, Sendable {
    /// The response becomes a file.
    case download
    /// A file is the body of the request.
    case upload
  }

  /// What a process that finds the record after a crash has to know.
  package enum Phase: String, Codable, Sendable {
    /// The transfer may begin, or go on where it stopped.
    case waiting
    /// A request that must not be repeated may be on its way. If nobody knows of a response, nobody ever will.
    case sending
    /// All bytes are in the draft beside the target, which gets the name of the target.
    case placing
    /// There is an ``end``, which nobody has acknowledged yet.
    case ended
  }

  /// The request as people write it.
  package struct Call: Codable, Hashable, Sendable {
    let method: String
    let url: String
    /// Each as `Name: value`.
    let headerFields: [String]

    init(_ request: HTTPRequest) {
      (method, url) = (request.method.rawValue, request.urlText ?? "")
      headerFields = request.headerFields.map { "\($0.name.rawName): \($0.value)" }
    }

    /// The request; nil if the text is none.
    var request: HTTPRequest? {
      guard let method = HTTPRequest.Method(method), let url = URL(reference: url.utf8),
        var request = try? HTTPRequest(method, to: url)
      else { return nil }
      for field in headerFields {
        guard let colon = field.firstIndex(of: ":"), let name = HTTPField.Name(String(field[..<colon])) else {
          return nil
        }
        request.headerFields.append(HTTPField(name: name, value: String(field[colon...].dropFirst(2))))
      }
      return request
    }
  }

  /// When the transfer may run, beside a path to the network.
  package struct Conditions: Codable, Hashable, Sendable {
    /// Whether the path must cost nothing.
    var isUnmetered = false
    /// Whether the machine must not run on its battery.
    var isOnPower = false
    /// The media of which one has to carry the traffic; nil for any.
    var media: [String]?
    /// The earliest time, in seconds since 1970; nil for now.
    var notBefore: Double?
  }

  /// The settings of the session and of the task that concern the transfer itself.
  package struct Settings: Codable, Hashable, Sendable {
    var pinning: Pinning?
    /// The words of a command that prints the credentials; empty for none.
    var credentialCommand: [String] = []
    var timeout: Double?
    var maximumResponseBytes: Int64?
    var maximumRedirects = 10
    var allowsRepetition = false
    var isIndicated = true
    var userAgent: String?
    var acceptsCompressedResponses = true
    var connectionsPerHost = 6
    /// The most transfers of the session at a time; nil for four.
    var connections: Int?

    /// The longest time in which neither side sends a byte; nil for no limit. A file may say anything.
    var silence: Duration? { timeout.map { .seconds(min(max($0, 0.001), 1e9)) } }
  }

  /// The pins of a security policy.
  package struct Pinning: Codable, Hashable, Sendable {
    var pinsCertificates: Bool
    /// The certificates in DER.
    var certificates: [Data]
    /// The SHA-256 of keys, in base64.
    var keys: [String]
  }

  /// How the transfer has ended.
  package struct End: Codable, Hashable, Sendable {
    /// The name and the words of an error's kind; nil for a success.
    package var kind: String?
    var kindWords: String?
    var operation = ""
    var message = ""
    var code: Int32 = 0
    /// The head of the response; nil if there is none.
    package var response: HTTPResponse?
    /// In seconds since 1970.
    var time: Double
  }

  var version = Self.newestVersion
  /// The number in the order of the session, then random digits. No other transfer ever has the same.
  package let id: String
  package let kind: Kind
  private let call: Call
  /// The path of the file that is made or sent.
  package var file: String
  /// Whether the file is in the spool, and goes with the record.
  var isSpooled = false
  var replacesExisting = false
  var createsFolders = false
  /// The user to whom the folder of the file belonged; nil if there was none.
  var folderOwner: UInt32?
  package var label: String?
  /// In seconds since 1970.
  var made: Double
  /// Transfers with a higher number begin first.
  package var priority = 0
  package var conditions = Conditions()
  var settings = Settings()

  package var phase = Phase.waiting
  package private(set) var isPaused = false
  /// When somebody wanted it to go on last, in seconds since 1970; nil if nobody has.
  private(set) var resumed: Double?
  /// Whether the user has cancelled it, which the worker has to carry out.
  package var isCancelled = false
  /// Why it does not go on at present, for people; nil if there is nothing to say.
  package var notice: String?
  package var end: End?

  /// The URL of the request.
  package var url: String { call.url }
  /// The request. Without a URL, and so one that fails, if the file has none that can be asked for.
  package var request: HTTPRequest {
    call.request ?? HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
  }
  /// Whether the URL and the path of the file have the form of one.
  var isSound: Bool { (url.hasPrefix("https://") || url.hasPrefix("http://")) && file.hasPrefix("/") }

  /// Creates a transfer that waits.
  init(id: String, kind: Kind, request: HTTPRequest, file: String, made: Double) {
    (self.id, self.kind, call, self.file, self.made) = (id, kind, Call(request), file, made)
  }

  /// The number in the order of the session.
  package var number: Int { Self.number(of: id) ?? 0 }

  /// Whether the request may be sent twice (RFC 9110, section 9.2.2).
  var mayRepeat: Bool {
    settings.allowsRepetition || [.get, .head, .put, .delete, .options, .trace].contains(request.method)
  }

  /// Whether it is an upload that must not be sent twice.
  var mustNotRepeat: Bool { kind == .upload && !mayRepeat }

  /// The time of the wall clock, in seconds since 1970.
  static var now: Double { Double(KernelClock.wall.nanoseconds) / 1e9 }

  package mutating func pause() { isPaused = true }

  /// Lets it go on, also if it waits after a failure.
  package mutating func resume() { (isPaused, resumed) = (false, Self.now) }

  /// The path of the folder of the file.
  var folder: String { URL(filePath: file).deletingLastPathComponent().path(percentEncoded: false) }

  /// The user to whom a folder belongs; nil if it cannot be found, and `errno` has the reason.
  static func owner(of folder: String) -> UInt32? {
    var facts = stat()
    return unsafe stat(folder, &facts) == 0 ? facts.st_uid : nil
  }

  /// The path of the file in which a download is made, beside its target.
  var draft: String { FileName.companion(of: file, suffix: ".netwatch-\(id)") + ".netwatch-\(id)" }

  /// The number in an id; nil if it is none that a spool gives: digits, `-` and eight hexadecimal digits.
  static func number(of id: some StringProtocol) -> Int? {
    let parts = id.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, 1...15 ~= parts[0].count, parts[0].utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      parts[1].utf8.count == 8, parts[1].utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 })
    else { return nil }
    return Int(parts[0])
  }

  /// Returns an id after the one with a number.
  static func id(after number: Int) -> String {
    let digits = String(UInt32.random(in: 0...UInt32.max), radix: 16)
    return "\(number + 1)-" + String(repeating: "0", count: 8 - digits.count) + digits
  }
}

extension TransferRecord.End {
  init(_ response: HTTPResponse?, at time: Double) {
    self.response = response
    self.time = time
  }

  init(_ error: HTTPError, at time: Double) {
    (kind, kindWords) = (error.kind.name, error.kind.description)
    (operation, message, code) = (error.operation, error.message, error.code)
    response = error.response
    self.time = time
  }

  /// The error; nil for a success.
  package func error(of request: HTTPRequest) -> HTTPError? {
    guard let kind else { return nil }
    var error = HTTPError(
      HTTPError.Kind(name: kind, description: kindWords ?? kind), operation, code: code, message: message)
    error.request = request
    error.response = response
    return error
  }
}

extension TransferRecord.Pinning {
  /// Nil for a policy that is the system's.
  ///
  /// - Throws: `badConfiguration` for a policy that a file cannot keep.
  init?(_ policy: SecurityPolicy) throws(HTTPError) {
    guard case .system = policy.roots, !policy.allowsInvalidCertificates, policy.validatesDomainName,
      policy.revocationLists.isEmpty, policy.check == nil
    else { throw .notStored("the security policy may only have pins", "the roots, lists and checks of its own") }
    if policy.pinningMode == .none { return nil }
    pinsCertificates = policy.pinningMode == .certificate
    certificates = policy.pins.map(\.der)
    keys = policy.keyPins.map(\.description)
  }

  func policy() throws(HTTPError) -> SecurityPolicy {
    let pins = try certificates.map { der throws(HTTPError) in try X509Certificate(der: der) }
    let keys = try keys.map { text throws(HTTPError) in try PublicKeyPin(text) }
    return try SecurityPolicy(pinsCertificates ? .certificate : .publicKey, pins: pins, keyPins: keys)
  }
}

extension HTTPError {
  /// The error of a setting that ends with the process.
  static func notStored(_ rule: String, _ what: String) -> HTTPError {
    HTTPError(
      .badConfiguration, "store the transfer",
      message: "\(rule), because \(what) cannot be stored; leave it out for a background session")
  }
}
