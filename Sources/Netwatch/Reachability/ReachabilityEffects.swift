extension ReachabilityMachine {
  /// The effects of one event, in order. An array that does not allocate for its first two elements.
  ///
  /// Not generic: a generic type that another module uses goes through the runtime's tables, and cost as much as a system
  /// call for each event.
  package struct Effects: Hashable, Sendable {
    private var first: Effect?
    private var second: Effect?
    private var rest: [Effect] = []

    package init() {}

    package mutating func append(_ effect: Effect) {
      if first == nil {
        first = effect
      } else if second == nil {
        second = effect
      } else {
        rest.append(effect)
      }
    }

    package func forEach(_ body: (Effect) -> Void) {
      if let first { body(first) }
      if let second { body(second) }
      for effect in rest { body(effect) }
    }

    package var elements: [Effect] {
      [first, second].compactMap { $0 } + rest
    }
  }
}
