import Foundation
import Glibc
import Netwatch
import NetwatchEventLoop
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Bytes that a reader finds under a path. They go when the test does.
final class TraceFile {
  let path: String

  init(_ bytes: [UInt8]) throws {
    path = FileManager.default.temporaryDirectory.appending(path: "netwatch-\(UUID().uuidString).trace").path
    try Data(bytes).write(to: URL(filePath: path))
  }

  convenience init(_ lines: [String]) throws { try self.init(Array((lines.joined(separator: "\n") + "\n").utf8)) }

  /// A name that nothing has yet.
  init() {
    path = FileManager.default.temporaryDirectory.appending(path: "netwatch-\(UUID().uuidString).trace").path
  }

  deinit { _ = unsafe unlink(path) }

  var text: String { get throws { String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self) } }

  /// What Tests/Traces has: recorded in a namespace by the script there.
  static func recorded(_ name: String) throws -> [UInt8] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return [UInt8](try Data(contentsOf: folder.appending(path: "Traces/\(name)")))
  }
}

/// A trace that was played, in this process.
struct Replay {
  /// Each path: when, status, reason, link.
  private(set) var told: [String] = []
  private(set) var fault: TraceError?
  /// Netlink was lost, as the trace says.
  private(set) var failure: SystemError?

  /// - Parameter samples: Whether the counters of links and the quality of the link are sampled.
  init(_ bytes: [UInt8], _ configuration: MonitorConfiguration = .init(), samples: Bool = false) throws {
    let file = try TraceFile(bytes)
    let player: TracePlayer
    do throws(TraceError) {
      player = TracePlayer(try TraceReader(opening: file.path))
    } catch {
      fault = error
      return
    }
    let log = Log()
    let loop = try EventLoop()
    let input = KernelInterface.replayed(player)
    // The samplers are called as the lines call them: connections are listed only while a link carries the path.
    let quality = QualitySampler(on: loop, of: input, addresses: { [] }, warn: { _ in }, emit: { _, _ in })
    do {
      let traffic = try TrafficSampler(on: loop, of: input) { _, _, _ in }
      let reachability = try NetlinkReachability(
        on: NetlinkSource(on: loop, input: input), configuration: configuration,
        publish: { path, change, moment in
          log.path = path
          if change == .interfaces { return }
          log.told.append(
            "\(moment.monotonic) \(moment.wall) \(path.status.rawValue) \(path.reason.rawValue) "
              + (path.interfaceName ?? "-"))
        },
        fail: { log.failure = $0 })
      defer { reachability.stop() }
      try reachability.start()
      reachability.replay(
        player, until: { log.failure != nil }, sample: samples ? { traffic.sample() } : nil,
        look: samples
          ? {
            guard let path = log.path else { return }
            // The first sample of a path is that of following it.
            if log.followed == path.verdict { quality.sample() } else { quality.follow(path) }
            log.followed = path.verdict
          } : nil)
    } catch let error as SystemError {
      log.failure = error
    }
    (told, failure, fault) = (log.told, log.failure, player.fault)
  }

  init(_ lines: [String], _ configuration: MonitorConfiguration = .init(), samples: Bool = false) throws {
    try self.init(Array((lines.joined(separator: "\n") + "\n").utf8), configuration, samples: samples)
  }

  private final class Log {
    var told: [String] = []
    var failure: SystemError?
    var path: NetworkPath?
    var followed: NetworkPath.Verdict?
  }
}
