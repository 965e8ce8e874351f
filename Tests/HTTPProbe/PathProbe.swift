import Foundation
import Glibc
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

/// An app whose session knows the path. Each line of its standard input is a command:
///
/// - `NAME METHOD URL [OPTION…]` makes a request with this name.
/// - `NAME cancel OTHER`, `NAME suspend OTHER` and `NAME resume OTHER` cancel, suspend and resume the request `OTHER`.
/// - `NAME lookups` prints a line whose outcome is the number of threads that look names up.
///
/// Each line of the standard output is the end of a request: its name; its outcome, which is the status and the first
/// line of the body, or the kind of the failure; how long it took, in microseconds; and the time of its end, in
/// nanoseconds of the monotonic clock.
///
/// The options of a request are:
///
/// - `retry`: Retries when the path is back.
/// - `repeat`: Allows that the request is sent twice.
/// - `wait=SECONDS`: Waits this long for a path.
/// - `timeout=SECONDS` and `total=SECONDS`: The timeout of an attempt and of the whole task.
/// - `body=TEXT`: Sends a body; `once=TEXT`: sends a body that can be sent only once.
/// - `to=FILE`: Makes a resumable download to the file.
/// - `fresh`: Uses a new session, which ends with the request.
/// - `metrics`: The outcome is the time until the name was looked up and until the first byte, in milliseconds.
enum PathProbe {
  static func main(grace: Double) throws {
    var configuration = HTTPSessionConfiguration()
    configuration.pathLossGrace = .seconds(grace)
    // The tests are about paths, so every server is trusted.
    let policy = try SecurityPolicy(.none, allowsInvalidCertificates: true, validatesDomainName: false)
    // If netlink is not available, there is no monitor.
    let path: any PathSource = (try? NetworkMonitor.start()) ?? OpenPath()
    let session = try HTTPSessionManager(configuration: configuration, policy: policy, path: path)
    print("ready")
    fflush(nil)
    var tasks: [String: HTTPTask] = [:]
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      if words.count == 3, words[1] == "cancel" {
        tasks[words[2]]?.cancel()
        continue
      }
      if words.count == 3, words[1] == "suspend" || words[1] == "resume" {
        if words[1] == "suspend" { tasks[words[2]]?.suspend() } else { tasks[words[2]]?.resume() }
        continue
      }
      if words.count == 2, words[1] == "lookups" { warn(words[0], "\(threads(named: "netwatch-lookup"))", since: .now) }
      guard words.count >= 3, let method = HTTPRequest.Method(words[1]), let url = URL(string: words[2]) else {
        continue
      }
      let request = try HTTPRequest(method, to: url)
      let (options, body) = try options(words.dropFirst(3))
      let start = ContinuousClock.now
      if let file = words.first(where: { $0.hasPrefix("to=") })?.dropFirst(3) {
        download(request, to: URL(filePath: String(file)), options, of: session, words[0])
        continue
      }
      let fresh =
        words.contains("fresh") ? try HTTPSessionManager(configuration: configuration, policy: policy, path: path) : nil
      let task = (fresh ?? session).dataTask(request, body: body, options: options) { result in
        let outcome =
          switch result {
          case .success(let reply) where words.contains("metrics"):
            [reply.metrics.nameLookup, reply.metrics.firstByte].map {
              $0.map { "\(Int($0 / .milliseconds(1)))" } ?? "-"
            }
            .joined(separator: " ")
          case .success(let reply):
            "\(reply.response.status.code) \(String(decoding: reply.value.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self))"
          case .failure(let error): error.kind.description
          }
        warn(words[0], outcome, since: start)
        fresh?.invalidate()
      }
      tasks[words[0]] = task
      task.resume()
    }
  }

  private static func threads(named name: String) -> Int {
    let folder = "/proc/self/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.count { (try? String(contentsOfFile: "\(folder)/\($0)/comm", encoding: .utf8)) == name + "\n" }
  }

  /// The path source of a session without netlink: it always has a path.
  private struct OpenPath: PathSource {
    var hasPath: Bool { true }
    func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable { Nothing() }
    final class Nothing: Sendable {}
  }

  private static func download(
    _ request: HTTPRequest, to file: URL, _ options: HTTPTaskOptions, of session: HTTPSessionManager, _ name: String
  ) {
    let start = ContinuousClock.now
    Task {
      let outcome: String
      do throws(HTTPError) {
        let reply = try await session.resumableDownload(request, to: file, options: options)
        outcome = "\(reply.response.status.code) file"
      } catch {
        outcome = error.kind.description
      }
      warn(name, outcome, since: start)
    }
  }

  /// Writes a line of output with write(2), because the main thread may hold the lock of a C stream.
  private static func warn(_ name: String, _ outcome: String, since start: ContinuousClock.Instant) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let took = Int((ContinuousClock.now - start) / .microseconds(1))
    let line = Array("\(name) \(outcome) \(took) \(now.tv_sec * 1_000_000_000 + now.tv_nsec)\n".utf8)
    unsafe line.withUnsafeBytes { line in _ = unsafe write(STDOUT_FILENO, line.baseAddress, line.count) }
  }

  private static func options(_ words: ArraySlice<String>) throws -> (HTTPTaskOptions, HTTPBody?) {
    var options = HTTPTaskOptions()
    options.executor = .immediate
    var body: HTTPBody?
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      let value = parts.count > 1 ? parts[1] : ""
      switch parts[0] {
      case "retry": options.retriesWhenReachable = true
      case "repeat": options.allowsRepetition = true
      case "wait": options.reachabilityTimeout = .seconds(Double(value) ?? 0)
      case "total": options.totalTimeout = .seconds(Double(value) ?? 60)
      case "timeout": options.timeout = .seconds(Double(value) ?? 60)
      case "body": body = .data(Data(value.utf8))
      case "once":
        body = .sequence(
          AsyncStream { part in
            part.yield(Data(value.utf8)); part.finish()
          })
      case "to", "fresh", "metrics": break
      default: throw CocoaError(.featureUnsupported)
      }
    }
    return (options, body)
  }
}
