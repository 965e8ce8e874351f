import Glibc

/// A generator whose numbers are the same in every run (splitmix64).
package struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }

  /// Returns true with a probability of one in `count`.
  package mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

/// The number of rounds of random tests.
package enum FuzzRounds {
  /// Returns the number in the variable `NETWATCH_FUZZ_ROUNDS`, or `standard` if that variable holds no number.
  package static func count(default standard: Int) -> Int {
    guard let text = unsafe getenv("NETWATCH_FUZZ_ROUNDS") else { return standard }
    return unsafe Int(String(cString: text)) ?? standard
  }
}
