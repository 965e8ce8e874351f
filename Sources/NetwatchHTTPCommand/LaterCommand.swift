import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchOptions

/// `netwatch get --later`: stores downloads, which a worker carries out.
struct LaterCommand {
  /// The identifier of the background session of the command line.
  static let session = "get"

  private let options: GetOptions

  init(_ options: GetOptions) { self.options = options }

  /// - Throws: A `PlainError` about an option that makes no sense.
  static func check(_ options: GetOptions) throws(PlainError) {
    for url in options.urls {
      let address = try WebAddress(url)
      guard address.user == nil else {
        throw PlainError("The user and the password of the URL would be stored; give them by --credential-command.")
      }
    }
    for text in options.headers {
      let name = try HTTPField(option: text).name
      guard ![.authorization, .proxyAuthorization, .cookie].contains(name) else {
        throw PlainError("The field '\(name)' would be stored; give the user and the password by --credential-command.")
      }
    }
    if options.output == "-" { throw PlainError("--later needs a file; leave out --output -.") }
    if options.output != nil, options.urls.count > 1 {
      throw PlainError("--output names one file; leave it out, or give one URL.")
    }
    if options.retries > 0 { throw PlainError("--later tries again by itself; leave out --retry.") }
  }

  func run() throws -> ProcessEnding {
    var configuration = HTTPSessionConfiguration()
    configuration.userAgent = "netwatch"
    let session = try HTTPSessionManager.background(
      Self.session, configuration: configuration, policy: try Getter.policy(pins: options.pins),
      credentialCommand: options.credentialCommand)
    return try Waiting.run { [options] in
      for (place, url) in options.urls.enumerated() {
        let address = try WebAddress(url)
        let file = URL(literally: options.output ?? address.fileName ?? "")
        var conditions = BackgroundConditions()
        (conditions.isUnmetered, conditions.isOnPower) = (options.path == .unmetered, options.isOnPower)
        let request = try Getter.request(address, headers: options.headers)
        let task: BackgroundTask
        do throws(HTTPError) {
          task = try await session.downloadTask(
            request, to: file, replacesExisting: options.replacesFile,
            conditions: conditions)
        } catch {
          if place > 0 { StandardError.warn("the \(place) before this one are stored; netwatch transfers lists them") }
          throw GetFailure(error, address, options.output ?? address.fileName ?? "", pins: !options.pins.isEmpty)
        }
        try task.resume()
        if !options.isQuiet {
          StandardError.write("\(task.id.prefix { $0 != "-" }): \(file.lastPathComponent.sanitizedForTerminal)\n")
        }
      }
      try session.startWorker()
      if !options.isQuiet { StandardError.write("netwatch transfers shows how far they are.\n") }
      return .exited(0)
    }
  }
}

/// Runs asynchronous code to its end on behalf of the main thread.
enum Waiting {
  private final class Answer: Sendable {
    let result = Lock<Result<ProcessEnding, any Error>?>(nil)
  }

  static func run(_ body: @escaping @Sendable () async throws -> ProcessEnding) throws -> ProcessEnding {
    let (loop, answer) = (try EventLoop(), Answer())
    let handle = loop.handle
    Task {
      let result: Result<ProcessEnding, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      answer.result.withLock { $0 = result }
      handle.submit { $0.stop() }
    }
    try loop.run()
    return try answer.result.withLock { $0 }?.get() ?? .exited(2)
  }
}
