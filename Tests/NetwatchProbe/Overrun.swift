import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// Follows with a small receive buffer; prints each status, and at the end of stdin how many overruns there were.
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
