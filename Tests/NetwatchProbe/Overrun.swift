import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// Watches the network with a small receive buffer. Prints each status and, when stdin is readable or ends, the number
/// of overruns.
enum Overrun {
  static func run(receiveBuffer: Int) throws {
    let loop = try EventLoop()
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: loop, receiveBuffer: receiveBuffer), configuration: MonitorConfiguration(),
      publish: { path, change, _ in if change != .interfaces { say(path.status.rawValue) } },
      fail: { say("failed: \($0)") })
    try reachability.start()
    try loop.watch(STDIN_FILENO, for: .readable) { [unowned loop] _ in
      say("overruns \(reachability.statistics.overruns)")
      loop.stop()
    }
    try loop.run()
  }
}
