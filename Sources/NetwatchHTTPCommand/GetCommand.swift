import ArgumentParser
import Glibc
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// `netwatch get`: a download, for a person at a terminal or for a script.
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Download a file, and resume an interrupted download.",
    discussion: """
      After an interruption, the same command requests only the rest, provided the server reports that the file is unchanged. \
      Until the file is complete, the data is in FILE.netwatch-part. The download counts as a request while it runs.

      Exit status: 0 done, 1 failed, 2 could not run, 64 wrong usage.
      """)

  @Argument(help: ArgumentHelp("The URL of the file. It may contain a user and a password.", valueName: "url"))
  var url: String

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Write to this file; - is standard output. Default: the last part of the URL.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Option(
    name: .customLong("pin"), parsing: .singleValue,
    help: ArgumentHelp(
      "Also require the key of this certificate, in PEM or DER, in the chain of the server. May be repeated.",
      valueName: "file"), completion: .file())
  var pins: [String] = []

  @Option(
    name: [.customShort("H"), .customLong("header")], parsing: .singleValue,
    help: ArgumentHelp("Send this header field, such as 'Accept: text/csv'. May be repeated.", valueName: "field"))
  var headers: [String] = []

  @Option(
    help: ArgumentHelp("Retry at most N times when the network or the server fails, and resume.", valueName: "n"))
  var retry = 0

  @Option(
    help: ArgumentHelp(
      "Fail when the route of the connection has been gone, or has been another one, for this long. 0: at once.",
      valueName: "seconds"))
  var pathLossGrace = 3.0

  @Flag(name: .shortAndLong, help: "Show no progress; print only errors.")
  var quiet = false

  mutating func validate() throws {
    do throws(PlainError) {
      let address = try WebAddress(url)
      guard address.isSecure || pins.isEmpty else { throw PlainError("--pin needs a URL with https://.") }
      guard output != nil || address.fileName != nil else {
        throw PlainError("The URL does not end in a file's name; give one with --output.")
      }
      for header in headers { _ = try HTTPField(option: header) }
    } catch {
      throw ValidationError(error.description)
    }
    if output == "" { throw ValidationError("--output needs the name of a file.") }
    // The parser writes this character for bytes that are not valid UTF-8.
    if let output, output.contains("\u{fffd}") { throw ValidationError("The name of the file is not UTF-8.") }
    guard 0...86_400 ~= pathLossGrace else {
      throw ValidationError("--path-loss-grace needs a number of seconds from 0 to 86400.")
    }
    guard 0...1_000 ~= retry else { throw ValidationError("--retry needs a number from 0 to 1000.") }
  }

  func run() throws {
    StandardError.keepPlace()
    let ending: ProcessEnding
    do {
      ending = try Getter(self).run()
    } catch let failure as GetFailure {
      StandardError.tell(failure.description.harmless)
      throw ExitCode(1)
    } catch {
      StandardError.tell("\(error)".harmless)
      throw ExitCode(2)
    }
    throw ExitCode(ending.imitate())
  }
}
