import Netwatch

/// The states of name lookups: which names are looked up, and which requests wait for them. Pure: events in, effects out.
///
/// A lookup cannot be cancelled (getaddrinfo(3)). If no request waits for it any more, it is left behind, and takes up its
/// place until it ends. New requests for the same name wait for the same lookup. After a change of the network, a running
/// lookup may have been asked over the old network. The name is then looked up a second time beside it, and the first answer
/// counts.
struct LookupMachine {
  enum Event: Hashable {
    /// A request needs the addresses of a name.
    case wanted(String, by: RequestID)
    /// A request needs no address any more.
    case dropped(by: RequestID)
    /// - Parameter found: Whether there is an address.
    case answered(number: Int, found: Bool)
    case networkChanged
    /// The time of the last `wake` has come.
    case woke
  }

  enum Effect: Hashable {
    /// Look a name up. The event `answered` follows with the number.
    case ask(String, number: Int)
    /// Give requests the answer that came with this event.
    case tell([RequestID])
    /// Send the event `woke` at this time. This replaces an earlier `wake`.
    case wake(at: Duration)
  }

  private struct Question {
    let name: String
    let asked: Duration
    /// Whether the network has changed while the lookup was young.
    var isDoubtful = false
    /// Whether the name has been asked for again since the network changed, if a request still wants it.
    var isOutdated = false
  }

  /// The most lookups that run at the same time.
  static let most = 16
  /// The age that a lookup must have before its name is asked for again. A change of the network comes as a burst of changes,
  /// and a younger lookup most likely began within it: it gets this time to be answered.
  static let youth = Duration.milliseconds(250)

  /// The lookups that are running.
  private var questions: [Int: Question] = [:]
  private var number = 0
  /// The names that wait for a free place, each once.
  private var names: [String] = []
  private var waiting: [(id: RequestID, name: String)] = []

  /// Whether no request waits for a name.
  var isIdle: Bool { waiting.isEmpty }

  mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .wanted(let name, let id):
      waiting.append((id, name))
      if !questions.values.contains(where: { $0.name == name && !$0.isOutdated }) { want(name) }
    case .dropped(let id):
      waiting.removeAll { $0.id == id }
    case .answered(let number, let found):
      guard let name = questions.removeValue(forKey: number)?.name else { break }
      let isLast = !names.contains(name) && !questions.values.contains { $0.name == name }
      guard found || isLast else { break }
      let told = waiting.filter { $0.name == name }.map(\.id)
      waiting.removeAll { $0.name == name }
      if !told.isEmpty { effects.append(.tell(told)) }
    case .networkChanged:
      for number in questions.keys { questions[number]?.isDoubtful = true }
      effects += askAgain(at: now)
    case .woke:
      effects += askAgain(at: now)
    }
    return effects + askNext(at: now)
  }

  /// Has the names of doubtful lookups asked for again, now or as soon as they are old enough.
  private mutating func askAgain(at now: Duration) -> [Effect] {
    var next: Duration?
    for (number, question) in questions where question.isDoubtful && !question.isOutdated {
      let grown = question.asked + Self.youth
      if now >= grown {
        questions[number]?.isOutdated = true
        want(question.name)
      } else {
        next = min(next ?? grown, grown)
      }
    }
    return next.map { [.wake(at: $0)] } ?? []
  }

  private mutating func want(_ name: String) {
    if !names.contains(name) { names.append(name) }
  }

  private mutating func askNext(at now: Duration) -> [Effect] {
    names.removeAll { name in !waiting.contains { $0.name == name } }
    let next = names.prefix(max(Self.most - questions.count, 0))
    names.removeFirst(next.count)
    return next.map { name in
      number &+= 1
      questions[number] = Question(name: name, asked: now)
      return .ask(name, number: number)
    }
  }
}
