import Foundation
import Glibc
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

/// An app whose session knows the path. Each line of stdin is a request: `NAME METHOD URL [OPTION…]`. Each line of stdout is an
/// end: the name; the status and the body's first line, or the kind of the failure; how long it took, in microseconds; and when it
/// was, in nanoseconds of the monotonic clock. `NAME cancel OTHER` cancels another request, and so do `suspend` and `resume` what they
/// say; `NAME lookups` ends with the number of
/// threads that look names up.
///
/// Options: retry, repeat, wait=SECONDS, timeout=SECONDS, body=TEXT, once=TEXT (a body that can be sent once),
/// to=FILE (a resumable download), fresh (a session of its own, which is not kept), metrics (the outcome is how many milliseconds
/// the name's lookup and the first byte took).
enum PathProbe {
  static func main(grace: Double) throws {
    var configuration = HTTPSessionConfiguration()
    configuration.pathLossGrace = .seconds(grace)
    // What matters is the path, not who is at its end.
    let policy = try SecurityPolicy(.none, allowsInvalidCertificates: true, validatesDomainName: false)
    // Without netlink there is no monitor.
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
          case .failure(let error): error.kind.words
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

  /// What a session without netlink has.
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
        outcome = error.kind.words
      }
      warn(name, outcome, since: start)
    }
  }

  /// Not by a stream, whose lock the main thread may hold.
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
