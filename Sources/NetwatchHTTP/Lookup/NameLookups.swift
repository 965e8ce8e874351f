import Netwatch
import NetwatchEventLoop

/// Looks host names up for a session's requests, in threads that nobody ever waits for. Belongs to the session's loop.
///
/// libcurl would do it in threads as well, and waits for them on the session's thread when their request is cancelled: for
/// seconds, if a name server is mute.
final class NameLookups {
  typealias Answer = Result<[IPAddress], HTTPError>

  private var machine = LookupMachine()
  private let comeBack: @Sendable (_ number: Int, Answer) -> Void
  private let tell: ([RequestID], Answer) -> Void

  /// - Parameters:
  ///   - comeBack: Called in the threads. It has ``answered(_:_:at:)`` called on the loop.
  ///   - tell: Called with the requests that have waited for a name. Never from within ``lookUp(_:for:at:)``.
  init(
    _ comeBack: @escaping @Sendable (_ number: Int, Answer) -> Void,
    tell: @escaping ([RequestID], Answer) -> Void
  ) {
    self.comeBack = comeBack
    self.tell = tell
  }

  func lookUp(_ name: String, for id: RequestID, at now: Duration) { run(.wanted(name, by: id), at: now) }

  /// Nothing more is told to this request.
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
      }
    }
  }

  private func ask(_ name: String, _ number: Int) {
    do throws(SystemError) {
      try BackgroundThread.start(name: "netwatch-lookup") { [comeBack] in
        comeBack(number, Self.addresses(of: name))
      }
    } catch {
      let failure = HTTPError(.notResolved, error.operation, code: error.code, underlying: error)
      comeBack(number, .failure(failure))
    }
  }
}
