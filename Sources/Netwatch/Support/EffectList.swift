/// The effects of one event, in order. An array that does not allocate for its first two elements.
package struct EffectList<Effect> {
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
}

extension EffectList: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { (first == nil ? 0 : 1) + (second == nil ? 0 : 1) + rest.count }

  package subscript(position: Int) -> Effect {
    if position == 0, let first { return first }
    if position == 1, let second { return second }
    return rest[position - 2]
  }
}

extension EffectList: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: Effect...) {
    for element in elements { append(element) }
  }
}

extension EffectList: Sendable where Effect: Sendable {}
extension EffectList: Equatable where Effect: Equatable {}
