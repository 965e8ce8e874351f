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

  /// True once in `count` times.
  package mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

/// How long random tests go on.
package enum FuzzRounds {
  /// `NETWATCH_FUZZ_ROUNDS`, or what a test takes without it.
  package static func count(default standard: Int) -> Int {
    guard let text = unsafe getenv("NETWATCH_FUZZ_ROUNDS") else { return standard }
    return unsafe Int(String(cString: text)) ?? standard
  }
}
