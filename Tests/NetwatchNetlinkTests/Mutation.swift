import NetwatchTestSupport

/// Random changes of recorded messages, which give messages that no kernel sends.
enum Mutation {
  static func message(from corpus: [[UInt8]], _ random: inout SplitMix) -> [UInt8] {
    var bytes = pick(corpus, &random)
    for _ in 0..<Int.random(in: 0...3, using: &random) { mutate(&bytes, corpus, &random) }
    // If the length at the front is right, the decoder also reads the wrong bytes behind it.
    if bytes.count >= 16, !random.oneIn(4) {
      bytes.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(bytes.count)))
    }
    return bytes
  }

  private static func pick(_ corpus: [[UInt8]], _ random: inout SplitMix) -> [UInt8] {
    corpus[Int.random(in: 0..<corpus.count, using: &random)]
  }

  private static func mutate(_ bytes: inout [UInt8], _ corpus: [[UInt8]], _ random: inout SplitMix) {
    guard bytes.count > 4 else {
      bytes = pick(corpus, &random)
      return
    }
    let place = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<7, using: &random) {
    case 0:
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
    case 1:
      let lies: [UInt16] = [0, 1, 2, 3, 4, 5, 7, 8, 0x7fff, 0x8000, .max, UInt16.random(in: 0...255, using: &random)]
      let lie = lies[Int.random(in: 0..<lies.count, using: &random)]
      let even = min(place & ~1, bytes.count - 2)
      bytes.replaceSubrange(even..<(even + 2), with: MessageBuilder.raw(lie))
    case 2:
      let other = pick(corpus, &random)
      bytes.replaceSubrange(place..., with: other[min(place, other.count)...])
    case 3: bytes.removeSubrange(place...)
    case 4:
      let end = Int.random(in: place..<bytes.count, using: &random)
      if bytes.count < 8192 { bytes.insert(contentsOf: bytes[place...end], at: place) }
    case 5: bytes[place] = UInt8(truncatingIfNeeded: random.next())
    default:
      // These bytes are the type of the message and the index of its link.
      bytes[4] = UInt8.random(in: 0...105, using: &random)
      if bytes.count >= 24 { bytes[20] = UInt8.random(in: 0...9, using: &random) }
    }
  }
}
