import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

/// An app whose session knows the path. Each line of stdin is a request: `NAME METHOD URL [OPTION…]`. Each line of stdout is an
/// end: the name, the status and the body's first line, or the kind of the failure; and how long it took, in milliseconds.
///
/// Options: retry, repeat, wait=SECONDS, timeout=SECONDS, body=TEXT, once=TEXT (a body that can be sent once).
enum PathProbe {
  static func main(grace: Double) throws {
    var configuration = HTTPSessionConfiguration()
    configuration.pathLossGrace = .seconds(grace)
    // Without netlink there is no monitor.
    let path: any PathSource = (try? NetworkMonitor.start()) ?? OpenPath()
    let session = try HTTPSessionManager(configuration: configuration, path: path)
    print("ready")
    fflush(nil)
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      guard words.count >= 3, let method = HTTPRequest.Method(words[1]), let url = URL(string: words[2]) else {
        continue
      }
      let request = try HTTPRequest(method, to: url)
      let (options, body) = try options(words.dropFirst(3))
      let start = ContinuousClock.now
      let task = session.dataTask(request, body: body, options: options) { result in
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        let outcome =
          switch result {
          case .success(let reply):
            "\(reply.response.status.code) \(String(decoding: reply.value.prefix { $0 != 10 }, as: UTF8.self))"
          case .failure(let error): "\(error.kind)"
          }
        // Not by a stream, whose lock the main thread may hold.
        let line = "\(words[0]) \(outcome) \(Int(time))\n"
        unsafe Array(line.utf8).withUnsafeBytes { line in _ = unsafe write(STDOUT_FILENO, line.baseAddress, line.count)
        }
      }
      task.resume()
    }
  }

  /// What a session without netlink has.
  private struct OpenPath: PathSource {
    var hasPath: Bool { true }
    func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable { Nothing() }
    final class Nothing: Sendable {}
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
      case "wait": options.waitsForReachability = .seconds(Double(value) ?? 0)
      case "timeout": options.timeout = .seconds(Double(value) ?? 60)
      case "body": body = .data(Data(value.utf8))
      case "once":
        body = .sequence(
          AsyncStream { part in
            part.yield(Data(value.utf8)); part.finish()
          })
      default: throw CocoaError(.featureUnsupported)
      }
    }
    return (options, body)
  }
}
