import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// Two watchers of one `NetlinkSource`. The first one stops itself while it is told of a loss.
enum Watchers {
  static func run() throws {
    let loop = try EventLoop()
    let source = try NetlinkSource(on: loop)
    var first: NetlinkReachability?
    first = try NetlinkReachability(
      on: source, configuration: MonitorConfiguration(),
      publish: { path, change, _ in
        if change != .interfaces { say("first \(path.status.rawValue)") }
        if !path.isReachable { first?.stop() }
      }, fail: { say("failed: \($0)") })
    let second = try NetlinkReachability(
      on: source, configuration: MonitorConfiguration(),
      publish: { path, change, _ in if change != .interfaces { say("second \(path.status.rawValue)") } },
      fail: { say("failed: \($0)") })
    try first?.start()
    try second.start()
    try loop.run()
  }
}
