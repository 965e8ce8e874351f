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
  }

  enum Effect: Hashable {
    /// Look a name up. The event `answered` follows with the number.
    case ask(String, number: Int)
    /// Give requests the answer that came with this event.
    case tell([RequestID])
  }

  /// The most lookups that run at the same time.
  static let most = 16
  /// The age below which a lookup is kept when the network changes. A change comes as a burst of changes, and a younger lookup
  /// most likely began within it.
  static let youth = Duration.milliseconds(250)

  /// The lookups that are running. An outdated one is followed by another one if a request still wants the name.
  private var questions: [Int: (name: String, asked: Duration, isOutdated: Bool)] = [:]
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
      for (number, question) in questions where !question.isOutdated && now - question.asked >= Self.youth {
        questions[number]?.isOutdated = true
        want(question.name)
      }
    }
    return effects + askNext(at: now)
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
      questions[number] = (name, now, false)
      return .ask(name, number: number)
    }
  }
}
