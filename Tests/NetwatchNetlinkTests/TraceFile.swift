import Foundation
import Glibc
import Netwatch
import NetwatchEventLoop
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// A file with the given bytes. The file is removed when the object is released.
final class TraceFile {
  let path: String

  init(_ bytes: [UInt8]) throws {
    path = FileManager.default.temporaryDirectory.appending(path: "netwatch-\(UUID().uuidString).trace").path
    try Data(bytes).write(to: URL(filePath: path))
  }

  convenience init(_ lines: [String]) throws { try self.init(Array((lines.joined(separator: "\n") + "\n").utf8)) }

  /// Creates a path at which no file exists.
  init() {
    path = FileManager.default.temporaryDirectory.appending(path: "netwatch-\(UUID().uuidString).trace").path
  }

  deinit { _ = unsafe unlink(path) }

  var text: String { get throws { String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self) } }

  /// Returns a file of Tests/Traces. The script in that folder has recorded the file in a network namespace.
  static func recorded(_ name: String) throws -> [UInt8] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return [UInt8](try Data(contentsOf: folder.appending(path: "Traces/\(name)")))
  }
}

/// A trace that was replayed in this process.
struct Replay {
  /// The published paths, each as its monotonic time, its wall time, its status, its reason and its link.
  private(set) var told: [String] = []
  private(set) var fault: TraceError?
  /// The error with which netlink was lost according to the trace.
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
    // The samplers are called as the lines of the trace call them. Connections are listed only while a link carries the
    // path.
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
            // The first sample of a path is taken when the sampler begins to follow the path.
            if log.followed == path.verdict { quality.sample() } else { quality.follow(path) }
            log.followed = path.verdict
          } : nil,
        found: samples ? { _, _ in } : nil)
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
