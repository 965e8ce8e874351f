import Netwatch

/// Which host names are looked up, and who waits for them. Pure: events in, effects out.
///
/// A lookup cannot be broken off (getaddrinfo(3)): one that nobody waits for any more is left behind, and takes its place
/// until it ends. Whoever wants the same name meanwhile waits for the same lookup. After a change of the network a lookup that
/// still runs was asked the wrong way, perhaps: the name is looked up a second time beside it, and the first answer counts.
struct LookupMachine {
  enum Event: Hashable {
    /// A request needs the addresses of a name.
    case wanted(String, by: RequestID)
    /// A request needs nothing any more.
    case dropped(by: RequestID)
    /// - Parameter found: Whether there is an address.
    case answered(number: Int, found: Bool)
    case networkChanged
  }

  enum Effect: Hashable {
    /// Look a name up, and say so by `answered` with the number.
    case ask(String, number: Int)
    /// Tell requests what the answer was, which came with this event.
    case tell([RequestID])
  }

  /// How many lookups run at a time.
  static let most = 16
  /// A change of the network is a burst of changes. A younger lookup was most likely asked within it.
  static let youth = Duration.milliseconds(250)

  /// An outdated one is followed by another for whoever wants the name.
  private var questions: [Int: (name: String, asked: Duration, isOutdated: Bool)] = [:]
  private var number = 0
  /// To be looked up once there is room, each once.
  private var names: [String] = []
  private var waiting: [(id: RequestID, name: String)] = []

  /// Whether nobody waits for a name.
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
