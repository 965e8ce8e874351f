import FoundationEssentials
import Glibc

/// What each of the clients can be asked to do, in its own way.
public protocol Client: Sendable {
  /// Prepares for so many requests at once, all for `url`.
  init(_ url: String, atOnce: Int) throws
  /// Prepares sessions for so many requests at once, all together, on threads that they share.
  init(_ url: String, atOnce: Int, threads: Int, sessions: Int) throws
  /// - Returns: the status, and the length of the body, which was in memory.
  func get() async throws -> (status: Int, length: Int)
  /// So many requests, so many of them at once. Default: each is awaited, in as many tasks.
  func load(_ count: Int, _ atOnce: Int) async throws
  func download(to path: String) async throws
  func close() async throws
}

extension Client {
  private static var usage: String { "usage: load|await URL COUNT AT_ONCE [THREADS SESSIONS] | download URL FILE" }

  public init(_ url: String, atOnce: Int, threads: Int, sessions: Int) throws {
    throw BenchFailure("this client is not asked for threads")
  }

  /// Runs the client in a task, while the main thread waits. A `main` that is `async` leaves that thread instead, for which the
  /// system reads 640 to 900 KiB of tables, whatever the client is.
  public static func main() {
    Task {
      await run()
      exit(0)
    }
    while true { pause() }
  }

  /// `load URL COUNT AT_ONCE [THREADS SESSIONS]`, `await` likewise, `download URL FILE`: prints seconds and the peak of the
  /// process's memory in KiB.
  private static func run() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let clock = ContinuousClock()
    let began = clock.now
    do {
      if [4, 6].contains(arguments.count), let count = Int(arguments[2]), let atOnce = Int(arguments[3]) {
        let client =
          if let threads = Int(arguments.dropFirst(4).first ?? ""), let sessions = Int(arguments.last ?? "") {
            try Self(arguments[1], atOnce: atOnce, threads: threads, sessions: sessions)
          } else {
            try Self(arguments[1], atOnce: atOnce)
          }
        switch arguments[0] {
        case "load": try await client.load(count, atOnce)
        case "await": try await client.awaitEach(count, atOnce)
        default: throw BenchFailure(usage)
        }
        try await client.close()
      } else if arguments.count == 3, arguments[0] == "download" {
        let client = try Self(arguments[1], atOnce: 1)
        try await client.download(to: arguments[2])
        try await client.close()
      } else {
        throw BenchFailure(usage)
      }
      let time = began.duration(to: clock.now)
      // Before the time becomes text, which takes more memory.
      let memory = peak()
      print(time / .seconds(1), memory)
    } catch {
      let message = Array("\(error)\n".utf8)
      _ = unsafe write(STDERR_FILENO, message, message.count)
      exit(2)
    }
  }

  public func load(_ count: Int, _ atOnce: Int) async throws { try await awaitEach(count, atOnce) }

  private func awaitEach(_ count: Int, _ atOnce: Int) async throws {
    try await withThrowingTaskGroup { group in
      for worker in 0..<atOnce {
        group.addTask {
          for _ in stride(from: worker, to: count, by: atOnce) {
            let (status, length) = try await get()
            try check(status, length)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// - Throws: unless it is what was asked for.
  public func check(_ status: Int, _ length: Int) throws {
    guard status == 200, length > 0 else { throw BenchFailure("status \(status), \(length) bytes") }
  }

  /// The process's peak of memory in KiB. Read as http-c reads it: Foundation's reading of a file, and Unicode's properties of a
  /// digit, would raise it by themselves.
  private static func peak() -> Int {
    guard let file = unsafe fopen("/proc/self/status", "r") else { return 0 }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, CInt(line.count), file) != nil {
      let bytes = line.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:))
      guard bytes.starts(with: "VmHWM:".utf8) else { continue }
      return bytes.reduce(0) { 48...57 ~= $1 ? $0 &* 10 &+ Int($1) &- 48 : $0 }
    }
    return 0
  }
}

public struct BenchFailure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
