import Netwatch
import NetwatchEventLoop

/// Looks up host names for a session's requests, in threads that are never waited for. Belongs to the session's loop.
///
/// libcurl also uses threads, but waits for them on the session's thread when their request is cancelled: for seconds, if a
/// name server is silent. The resolver that follows the host of a monitor asks name servers only. Here, names are found in all
/// places that nsswitch.conf(5) lists, such as mDNS and LDAP, as other programs of the machine find them.
final class NameLookups {
  typealias Answer = Result<[IPAddress], HTTPError>

  private var machine = LookupMachine()
  private let comeBack: @Sendable (_ number: Int, Answer) -> Void
  private let tell: ([RequestID], Answer) -> Void
  private let loop: EventLoop
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in run(.woke, at: loop.now) }

  /// - Parameters:
  ///   - loop: The session's loop.
  ///   - comeBack: Called in the threads. It has to call ``answered(_:_:at:)`` on the loop.
  ///   - tell: Called with the requests that have waited for a name. It is never called within ``lookUp(_:for:at:)``.
  init(
    on loop: EventLoop, _ comeBack: @escaping @Sendable (_ number: Int, Answer) -> Void,
    tell: @escaping ([RequestID], Answer) -> Void
  ) {
    self.loop = loop
    self.comeBack = comeBack
    self.tell = tell
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
      case .tell(let ids): if let answer { tell(ids, answer) }
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
