import Netwatch

/// The options of `netwatch get`.
package struct GetOptions: Sendable {
  /// The URLs; more than one only with ``isForLater``.
  package var urls: [String] = []
  package var url: String { urls.first ?? "" }
  /// The path of the file; nil for the last part of the URL.
  package var output: String?
  package var replacesFile = false
  /// The paths of certificates, one of which the chain of the server has to have.
  package var pins: [String] = []
  /// Header fields, such as `Accept: text/csv`.
  package var headers: [String] = []
  package var retries = 0
  package var pathLossGrace = Duration.seconds(3)
  package var isQuiet = false
  /// Whether a worker downloads the files in the background, also when this program has ended.
  package var isForLater = false
  package var path: PathCost?
  package var isOnPower = false
  /// The words of a command that prints the credentials.
  package var credentialCommand: [String] = []

  /// The paths on which a download in the background may run.
  package enum PathCost: String, CaseIterable, Sendable {
    case unmetered
  }

  package init() {}

  @OptionTable<GetOptions> package static var options: [Option<GetOptions>] {
    Option.operand(
      "url", of: [.get],
      help: "The URL of the file. It may contain a user and a password. With --later, there may be several.",
      by: { url throws(PlainError) in url }
    ) { $0.urls.append($1) }
    .required().repeating()
    Option.text(
      "-o", "--output", value: "file", of: [.get], help: "Write to this file; - is standard output."
    ) { $0.output = $1 }
    .standard("the last part of the URL").suggesting(.files)
    Option.flag("--force", of: [.get], help: "Replace an existing file.") { $0.replacesFile = $1 }
    Option.text(
      "--pin", value: "file", of: [.get],
      help: "Also require the key of this certificate, in PEM or DER, in the chain of the server. May be repeated."
    ) { $0.pins.append($1) }
    .repeating().suggesting(.files)
    Option.text(
      "-H", "--header", value: "field", of: [.get],
      help: "Send this header field, such as 'Accept: text/csv'. May be repeated."
    ) { $0.headers.append($1) }
    .repeating()
    Option.number(
      "--retry", in: 0...1_000, of: [.get],
      help: "Retry at most N times when the network or the server fails, and resume."
    ) { $0.retries = $1 }
    .standard("0")
    Option.seconds(
      "--path-loss-grace", of: [.get],
      help:
        "Fail when the route of the connection has been gone, or has been another one, for this long. 0: at once.",
      need: "a number of seconds from 0 to 86400", if: { $0 <= .seconds(86_400) }
    ) { $0.pathLossGrace = $1 }
    .standard("3")
    Option.flag(
      "--later", of: [.get],
      help: "Download in the background, also after a logout, a crash or a restart; see netwatch transfers."
    ) { $0.isForLater = $1 }
    Option.choice(
      "--for", value: "unmetered", of: [.get], help: "With --later, wait for a network that costs nothing."
    ) { $0.path = $1 }
    Option.flag("--on-power", of: [.get], help: "With --later, wait while the machine runs on its battery.") {
      $0.isOnPower = $1
    }
    Option.text(
      "--credential-command", value: "word", of: [.get],
      help:
        "With --later, run this command for the user and the password, as git does. Give it once for each word of the command."
    ) { $0.credentialCommand.append($1) }
    .repeating()
    Option.flag("-q", "--quiet", of: [.get], help: "Show no progress; print only errors.") { $0.isQuiet = $1 }
  }
}
