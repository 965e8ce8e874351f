import CLibCurl
import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Looks up host names for a session's requests, in threads that are never waited for. Belongs to the session's loop.
///
/// libcurl also uses threads, but waits for them on the session's thread when their request is cancelled: for seconds, if a
/// name server is silent. The resolver that follows the host of a monitor asks name servers only. Here, names are found in all
/// places that nsswitch.conf(5) lists, such as mDNS and LDAP, as other programs of the machine find them.
final class NameLookups {
  typealias Answer = Result<[InternetAddress], HTTPError>

  private var machine = LookupMachine()
  private let comeBack: @Sendable (_ number: Int, Answer) -> Void
  private let answered: ([RequestID], Answer) -> Void
  private let loop: EventLoop
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in run(.woke, at: loop.now) }

  /// - Parameters:
  ///   - loop: The session's loop.
  ///   - comeBack: Called in the threads. It has to call ``answered(_:_:at:)`` on the loop.
  ///   - answered: Called with the requests that have waited for a name. It is never called within ``lookUp(_:for:at:)``.
  init(
    on loop: EventLoop, _ comeBack: @escaping @Sendable (_ number: Int, Answer) -> Void,
    answered: @escaping ([RequestID], Answer) -> Void
  ) {
    self.loop = loop
    self.comeBack = comeBack
    self.answered = answered
  }

  func lookUp(_ name: String, for id: RequestID, at now: Duration) { run(.wanted(name, by: id), at: now) }

  /// Forgets a request, which gets no answer any more.
  func drop(_ id: RequestID, at now: Duration) { run(.dropped(by: id), at: now) }

  func networkChanged(at now: Duration) { run(.networkChanged, at: now) }

  func answered(_ number: Int, _ answer: Answer, at now: Duration) {
    run(.answered(number: number, found: (try? answer.get()) != nil), answer, at: now)
  }

  private func run(_ event: LookupMachine.Event, _ answer: Answer? = nil, at now: Duration) {
    for effect in machine.handle(event, at: now) {
      switch effect {
      case .ask(let name, let number): ask(name, number)
      case .tell(let ids): if let answer { answered(ids, answer) }
      case .wake(let time): timer.set(at: time)
      }
    }
  }

  private func ask(_ name: String, _ number: Int) {
    do throws(SystemError) {
      try BackgroundThread.start(name: "netwatch-lookup") { [comeBack] in
        comeBack(number, Self.addresses(of: name))
      }
    } catch {
      let failure = HTTPError(.notResolved, error.operation, code: error.code, domain: .system, underlying: error)
      comeBack(number, .failure(failure))
    }
  }
}

/// Host names as this system knows them: from its hosts file, its name servers, and all else in nsswitch.conf(5).
extension NameLookups {
  /// The most addresses of a name, which can have thousands. A connection tries each one in turn until it succeeds.
  private static let mostAddresses = 64

  /// Looks up the addresses of a name. Waits as long as resolv.conf(5) allows: with one silent name server, 10 s.
  ///
  /// - Returns: The addresses in the order in which they are to be tried (RFC 6724). None if all of them are limited to a link,
  ///   which an ``InternetAddress`` cannot express. The failure is `notResolved`.
  static func addresses(of name: String) -> Answer {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = AF_UNSPEC
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(name, nil, &hints, &list)
    defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
    guard code == 0 else { return .failure(failure(of: name, code)) }
    var addresses: [InternetAddress] = []
    var next = unsafe list
    while let entry = unsafe next?.pointee, addresses.count < mostAddresses {
      unsafe next = entry.ai_next
      guard let name = unsafe entry.ai_addr, let address = unsafe SocketAddress(name), address.scope == 0 else {
        continue
      }
      if !addresses.contains(address.address) { addresses.append(address.address) }
    }
    return .success(addresses)
  }

  private static func failure(of name: String, _ code: CInt) -> HTTPError {
    let reason = unsafe code == EAI_SYSTEM ? strerror(errno) : UnsafeMutablePointer(mutating: gai_strerror(code))
    let words = unsafe reason.map { unsafe ": \(String(cString: $0))" } ?? ""
    return HTTPError(CURLE_COULDNT_RESOLVE_HOST, "request", message: "Could not resolve host: \(name)\(words)")
  }

  /// Returns whether a host needs no lookup: it is an address, also in one of the old spellings of IPv4, or this machine itself
  /// (RFC 6761, section 6.3).
  static func isKnown(_ host: String) -> Bool {
    var address = in_addr()
    let isNumber = unsafe inet_aton(host, &address) != 0
    if isNumber || host.hasPrefix("[") { return true }
    let labels = host.lowercased().split(separator: ".")
    return labels.last == "localhost"
  }
}

/// The addresses of names that are not looked up.
struct AddressOverrides {
  private var addresses: [String: [InternetAddress]] = [:]

  /// - Parameter overrides: The addresses, by `name` or `name:port`.
  /// - Throws: `badConfiguration` for a key that is not a name, and for a name without addresses.
  init(_ overrides: [String: [InternetAddress]]) throws(HTTPError) {
    for (key, addresses) in overrides {
      guard let authority = Authority(key), let name = HostName.canonical(authority.host),
        !NameLookups.isKnown(authority.host)
      else { throw Self.refusal("'\(key)' is no name that is looked up; write a name, or a name and a port") }
      guard !addresses.isEmpty else { throw Self.refusal("'\(key)' has no addresses; add one, or leave the name out") }
      self.addresses[authority.port.map { "\(name):\($0)" } ?? name] = addresses
    }
  }

  private static func refusal(_ message: String) -> HTTPError {
    HTTPError(.badConfiguration, "start session", message: "addressOverrides: \(message)")
  }

  /// Returns the addresses of a host. Nil if it has to be looked up.
  func addresses(of host: Authority) -> [InternetAddress]? {
    guard !addresses.isEmpty, let name = HostName.canonical(host.host) else { return nil }
    return host.port.flatMap { addresses["\(name):\($0)"] } ?? addresses[name]
  }
}
