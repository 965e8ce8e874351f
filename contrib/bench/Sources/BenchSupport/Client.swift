import Foundation

/// What each of the clients can be asked to do, in its own way.
public protocol Client: Sendable {
  /// Prepares for so many requests at once, all for `url`.
  init(_ url: String, atOnce: Int) throws
  /// - Returns: the status, and the length of the body, which was in memory.
  func get() async throws -> (status: Int, length: Int)
  func download(to path: String) async throws
  func close() async throws
}

extension Client {
  /// `load URL COUNT AT_ONCE`, `download URL FILE`: prints seconds and the peak of the process's memory in KiB.
  public static func run() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let clock = ContinuousClock()
    let began = clock.now
    do {
      if arguments.count == 4, arguments[0] == "load", let count = Int(arguments[2]), let atOnce = Int(arguments[3]) {
        try await load(arguments[1], count, atOnce)
      } else if arguments.count == 3, arguments[0] == "download" {
        let client = try Self(arguments[1], atOnce: 1)
        try await client.download(to: arguments[2])
        try await client.close()
      } else {
        throw BenchFailure("usage: load URL COUNT AT_ONCE | download URL FILE")
      }
      let time = began.duration(to: clock.now) / .seconds(1)
      print(time, peak())
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(2)
    }
  }

  private static func load(_ url: String, _ count: Int, _ atOnce: Int) async throws {
    let client = try Self(url, atOnce: atOnce)
    try await withThrowingTaskGroup { group in
      for worker in 0..<atOnce {
        group.addTask {
          for _ in stride(from: worker, to: count, by: atOnce) {
            let (status, length) = try await client.get()
            guard status == 200, length > 0 else { throw BenchFailure("status \(status), \(length) bytes") }
          }
        }
      }
      try await group.waitForAll()
    }
    try await client.close()
  }

  private static func peak() -> String {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.filter(\.isNumber)
  }
}

public struct BenchFailure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
