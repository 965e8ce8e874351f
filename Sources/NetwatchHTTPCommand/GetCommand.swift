import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchOptions

/// `netwatch get`: a download, for a person at a terminal or for a script.
struct GetCommand {
  private let options: GetOptions

  /// - Throws: A `UsageError` about an option that makes no sense.
  init(_ options: GetOptions) throws(UsageError) {
    self.options = options
    do throws(PlainError) {
      if options.isForLater {
        try LaterCommand.check(options)
      } else if options.urls.count > 1 {
        throw PlainError("get downloads one file at a time; add --later to download several in the background.")
      } else if options.path != nil || options.isOnPower || !options.credentialCommand.isEmpty {
        throw PlainError("--for, --on-power and --credential-command need --later.")
      }
      for address in try options.urls.map(WebAddress.init) {
        guard address.isSecure || options.pins.isEmpty else { throw PlainError("--pin needs a URL with https://.") }
        guard options.output != nil || address.fileName != nil else {
          throw PlainError("The URL does not end in a file's name; give one with --output.")
        }
      }
      for header in options.headers { _ = try HTTPField(option: header) }
    } catch {
      throw UsageError(error.description)
    }
    if options.output == "" { throw UsageError("--output needs the name of a file.") }
    // Swift writes this character for bytes that are not valid UTF-8.
    if let output = options.output, output.contains("\u{fffd}") {
      throw UsageError("The name of the file is not UTF-8.")
    }
  }

  func run() throws -> ProcessEnding {
    do {
      return try options.isForLater ? LaterCommand(options).run() : Getter(options).run()
    } catch let failure as GetFailure {
      StandardError.warn(failure.description.sanitizedForTerminal)
      return .exited(1)
    }
  }
}
