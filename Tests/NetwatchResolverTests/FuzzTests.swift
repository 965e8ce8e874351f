import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

/// Whatever a name server sends, a lookup ends with usable addresses or with an error.
@Suite(.timeLimit(.minutes(60))) struct FuzzTests {
  @Test(arguments: [UInt64(21), 22])
  func `random answers do no harm`(_ seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop) { question, transport in
      var answers = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        Self.answer(to: question, &random)
      }
      // The resolver ignores some of these answers, and would wait for another one.
      answers.append(Answer.bytes(question, [], .noSuchName))
      return answers
    }
    var kinds: Set<ResolverError.Kind> = []
    var successes = 0
    for round in 0..<FuzzRounds.count(default: 3_000) / 2 {
      var outcome: Resolution.Outcome?
      let lookup = HostLookup(of: try HostName("host.example"), on: loop, server.configuration) {
        outcome = $0
        loop.stop()
      }
      try loop.runPatiently()
      withExtendedLifetime(lookup) {}
      switch try #require(outcome) {
      case .success(let resolution):
        successes += 1
        let addresses = resolution.addresses
        #expect((1...16).contains(addresses.count) && Set(addresses).count == addresses.count, "round \(round)")
        #expect(resolution.timeToLive.map { $0 >= .zero } ?? false, "round \(round)")
      case .failure(let error): kinds.insert(error.kind)
      }
    }
    #expect(successes > 10)
    // c-ares 1.20 has another parser, which reads none of these answers as one that says that the name does not exist.
    #expect(kinds.isSuperset(of: aresIsBefore(minor: 20) ? [.noSuchName, .noAddress, .other] : [.noAddress, .other]))
  }

  private static func answer(to question: Question, _ random: inout SplitMix) -> [UInt8] {
    let records: [Record] = [
      .alias("other.example", timeToLive: UInt32.random(in: 0...(.max), using: &random)),
      .address(.ip("192.0.2.7"), timeToLive: 30), .address(.ip("2001:db8::7"), timeToLive: 30),
    ]
    var bytes = Answer.bytes(
      question, Array(records.dropFirst(random.oneIn(2) ? 1 : 0)), isCut: random.oneIn(10))
    let start = random.oneIn(10) ? 0 : 12 + question.bytes.count
    for _ in 0..<Int.random(in: 0...4, using: &random) where bytes.count > start {
      let place = Int.random(in: start..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
      // The byte makes the name continue elsewhere, perhaps at its own beginning.
      case 2: bytes[place] = 0xc0
      case 3: bytes.removeSubrange(place...)
      case 4: bytes.insert(contentsOf: bytes[start..<place], at: place)
      default:
        // This byte is the number of records.
        if bytes.count > 7 { bytes[7] = UInt8(truncatingIfNeeded: random.next()) }
      }
    }
    return random.oneIn(20)
      ? (0..<Int.random(in: 0...600, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) } : bytes
  }
}
