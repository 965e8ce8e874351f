import AllocationCount
import Glibc
import Netwatch
import Synchronization

/// `bench-activity ROUNDS`: what a request costs the thread that makes it.
///
/// Prints a line for each round: nanoseconds for one lock and unlock, for one pair of begin and end while `delayingStart`, for
/// one between `active` and `delayingEnd`, for one of `began` and `ended` with the same id, and for one with a new id. A last
/// line has the allocations of all those pairs while `delayingStart`, and of all those between `active` and `delayingEnd`.
@main
struct BenchActivity {
  static func main() {
    guard CommandLine.arguments.count == 2, let rounds = Int(CommandLine.arguments[1]), rounds > 0 else {
      fail("usage: bench-activity ROUNDS", status: 64)
    }
    let costs = Costs()
    for _ in 0..<rounds { print(costs.round().map { "\($0)" }.joined(separator: " ")) }
    print(costs.allocationsDelayingStart, costs.allocationsActive)
  }

  static func fail(_ message: String, status: CInt = 2) -> Never {
    var text = "bench-activity: \(message)\n"
    text.withUTF8 { text in _ = unsafe write(STDERR_FILENO, text.baseAddress, text.count) }
    exit(status)
  }
}

final class Costs {
  /// A round has so many slices of each, in turns: drift of the machine meets all alike.
  private static let slices = 50
  private static let pairsPerSlice = 2_000
  private static let forever = Duration.seconds(86_400)

  private let lock = Mutex<UInt64>(0)
  /// Each stays in its state: the next timer is a day away.
  private let delayingStart = Costs.indicator(activationDelay: forever)
  private let active = Costs.indicator(activationDelay: .zero)
  private let sameID = Costs.indicator(activationDelay: forever)
  private let newIDs = Costs.indicator(activationDelay: forever)
  private var lastID: UInt64 = 0
  private var proof: [UInt64] = []
  private(set) var allocationsDelayingStart: UInt64 = 0
  private(set) var allocationsActive: UInt64 = 0

  init() {
    if (allocations { proof = [UInt64](repeating: 0, count: Self.slices) }) == 0 {
      BenchActivity.fail("allocations are not seen")
    }
    let token = active.begin()
    while !active.isVisible { usleep(1_000) }
    token.end()
    // The first of each makes the timer, and room for what comes.
    _ = round()
    allocationsDelayingStart = 0
    allocationsActive = 0
  }

  private static func indicator(activationDelay: Duration) -> ActivityIndicator {
    var configuration = ActivityConfiguration()
    configuration.activationDelay = activationDelay
    configuration.completionDelay = forever
    return ActivityIndicator(configuration)
  }

  /// Nanoseconds for one of each.
  func round() -> [Double] {
    var sums = [Double](repeating: 0, count: 5)
    for _ in 0..<Self.slices {
      sums[0] += nanoseconds { lock.withLock { $0 &+= 1 } }
      allocationsDelayingStart += allocations { sums[1] += nanoseconds { delayingStart.begin().end() } }
      allocationsActive += allocations { sums[2] += nanoseconds { active.begin().end() } }
      sums[3] += nanoseconds {
        sameID.began(1)
        sameID.ended(1)
      }
      sums[4] += nanoseconds {
        lastID += 1
        newIDs.began(RequestID(lastID))
        newIDs.ended(RequestID(lastID))
      }
    }
    guard delayingStart.state == .delayingStart, active.state == .delayingEnd else {
      BenchActivity.fail("an indicator is in another state than the one to be measured")
    }
    return sums.map { $0 / Double(Self.slices) }
  }

  /// Of one `body`, by a slice of them.
  @inline(__always) private func nanoseconds(_ body: () -> Void) -> Double {
    let started = Self.now
    for _ in 0..<Self.pairsPerSlice { body() }
    return Double(Self.now - started) / Double(Self.pairsPerSlice)
  }

  private func allocations(_ body: () -> Void) -> UInt64 {
    let before = allocation_count()
    body()
    return allocation_count() - before
  }

  private static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
