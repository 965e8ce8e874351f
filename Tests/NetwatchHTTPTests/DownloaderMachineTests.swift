import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct DownloaderMachineTests {
  private typealias Machine = DownloaderMachine<Int>

  @Test func `equal requests share a transfer, and each receipt is answered`() {
    var machine = Machine(limit: 2, order: .firstInFirstOut)
    #expect(machine.handle(.requested(1, 7)) == [.begin(1, 7)])
    #expect(machine.handle(.requested(2, 7)) == [])
    #expect(machine.handle(.requested(3, 8)) == [.begin(2, 8)])
    #expect(machine.handle(.ended(1)) == [.answer([1, 2], of: 1)])
  }

  @Test func `one that is cancelled leaves the transfer to the others, the last one takes it`() {
    var machine = Machine(limit: 1, order: .firstInFirstOut)
    _ = machine.handle(.requested(1, 7))
    _ = machine.handle(.requested(2, 7))
    #expect(machine.handle(.cancelled(1)) == [.answerCancelled(1)])
    #expect(machine.handle(.cancelled(1)) == [])
    #expect(machine.handle(.cancelled(2)) == [.cancel(1), .answerCancelled(2)])
    // A cancelled transfer counts until it has ended, and new requests do not join it.
    #expect(machine.handle(.requested(3, 7)) == [])
    #expect(machine.handle(.ended(1)) == [.begin(2, 7)])
  }

  @Test func `one that is cancelled while it waits was never active`() {
    var machine = Machine(limit: 1, order: .firstInFirstOut)
    _ = machine.handle(.requested(1, 7))
    _ = machine.handle(.requested(2, 8))
    _ = machine.handle(.requested(3, 9))
    #expect(machine.handle(.cancelled(2)) == [.drop(2), .answerCancelled(2)])
    #expect(machine.activeCount == 1)
    #expect(machine.handle(.ended(1)) == [.answer([1], of: 1), .begin(3, 9)])
  }

  @Test(arguments: [(DownloadOrder.firstInFirstOut, [1, 2, 3, 4]), (.lastInFirstOut, [1, 4, 3, 2])])
  func `the order is the caller's`(_ order: DownloadOrder, _ keys: [Int]) {
    var machine = Machine(limit: 1, order: order)
    var begun: [Int] = []
    var effects = (1...4).flatMap { machine.handle(.requested(UInt64($0), $0)) }
    while !effects.isEmpty {
      effects = effects.flatMap { effect -> [Machine.Effect] in
        guard case .begin(let id, let key) = effect else { return [] }
        begun.append(key)
        return machine.handle(.ended(id))
      }
    }
    #expect(begun == keys)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `1,000 receipts on 50 keys are answered once, and never too many are active`(_ seed: UInt64) {
    var world = DownloaderWorld(seed: seed, limit: [1, 2, 4, 16][Int(seed % 4)])
    for _ in 0..<1_000 { world.request() }
    world.finish()
    #expect(world.fault == nil)
    #expect(world.answered.count == 1_000)
    #expect(world.merged > 0)
    #expect(world.dropped > 0 || world.limit == 16)
  }
}

/// A downloader machine beside a simple model, which searches all transfers each time.
private struct DownloaderWorld {
  private struct Transfer {
    let id: UInt64
    let key: Int
    var receipts: [UInt64]
    var isActive = false
    var isCancelled = false
  }

  let limit: Int
  private let order: DownloadOrder
  private var machine: DownloaderMachine<Int>
  private var random: SplitMix
  private var transfers: [Transfer] = []
  private var nextTransfer: UInt64 = 0
  private var nextReceipt: UInt64 = 0
  private(set) var answered: Set<UInt64> = []
  private(set) var merged = 0
  private(set) var dropped = 0
  private(set) var fault: String?

  init(seed: UInt64, limit: Int) {
    random = SplitMix(seed: seed)
    self.limit = limit
    order = seed % 8 < 4 ? .firstInFirstOut : .lastInFirstOut
    machine = DownloaderMachine(limit: limit, order: order)
  }

  mutating func request() {
    nextReceipt += 1
    let key = Int.random(in: 0..<50, using: &random)
    if let index = transfers.firstIndex(where: { $0.key == key && !$0.isCancelled }) {
      transfers[index].receipts.append(nextReceipt)
      merged += 1
    } else {
      nextTransfer += 1
      transfers.append(Transfer(id: nextTransfer, key: key, receipts: [nextReceipt]))
    }
    take(machine.handle(.requested(nextReceipt, key)), expected: expectedBegins())
    while random.oneIn(2) { act() }
  }

  mutating func finish() { while !transfers.isEmpty { act() } }

  private mutating func act() {
    if random.oneIn(2) { cancel() } else { end() }
  }

  private mutating func cancel() {
    // Some of these receipts were already answered.
    let receipt = UInt64.random(in: 1...nextReceipt, using: &random)
    var expected: [DownloaderMachine<Int>.Effect] = []
    if let index = transfers.firstIndex(where: { $0.receipts.contains(receipt) }) {
      transfers[index].receipts.removeAll { $0 == receipt }
      let transfer = transfers[index]
      if transfer.receipts.isEmpty {
        if transfer.isActive {
          transfers[index].isCancelled = true
          expected.append(.cancel(transfer.id))
        } else {
          transfers.remove(at: index)
          dropped += 1
          expected.append(.drop(transfer.id))
        }
      }
      expected.append(.answerCancelled(receipt))
    }
    take(machine.handle(.cancelled(receipt)), expected: expected)
  }

  private mutating func end() {
    guard let transfer = transfers.filter(\.isActive).randomElement(using: &random) else { return }
    transfers.removeAll { $0.id == transfer.id }
    let answer: [DownloaderMachine<Int>.Effect] =
      transfer.receipts.isEmpty ? [] : [.answer(transfer.receipts, of: transfer.id)]
    take(machine.handle(.ended(transfer.id)), expected: answer + expectedBegins())
  }

  private mutating func expectedBegins() -> [DownloaderMachine<Int>.Effect] {
    var effects: [DownloaderMachine<Int>.Effect] = []
    while transfers.filter(\.isActive).count < limit {
      let waiting = transfers.indices.filter { !transfers[$0].isActive }
      guard let index = order == .firstInFirstOut ? waiting.first : waiting.last else { break }
      transfers[index].isActive = true
      effects.append(.begin(transfers[index].id, transfers[index].key))
    }
    return effects
  }

  private mutating func take(_ effects: [DownloaderMachine<Int>.Effect], expected: [DownloaderMachine<Int>.Effect]) {
    if effects != expected { fault = fault ?? "\(effects) instead of \(expected)" }
    if machine.activeCount > limit || machine.activeCount != transfers.filter(\.isActive).count {
      fault = fault ?? "\(machine.activeCount) are active"
    }
    for effect in effects {
      switch effect {
      case .answerCancelled(let receipt): answer(receipt)
      case .answer(let receipts, of: _): receipts.forEach { answer($0) }
      case .begin, .cancel, .drop: break
      }
    }
  }

  private mutating func answer(_ receipt: UInt64) {
    if !answered.insert(receipt).inserted { fault = fault ?? "\(receipt) is answered twice" }
  }
}
