import Netwatch

/// The options of `netwatch mqtt`.
package struct PublishOptions: Sendable {
  /// The address of the broker, as the user wrote it; empty if it is not needed.
  package var broker = ""
  /// The name of the login; nil for the identity of the machine.
  package var user: String?
  /// The path of the file with the password.
  package var passwordFile: String?
  /// The path of the certificates that are trusted; nil for those of the system.
  package var authorities: String?
  package var certificate: String?
  package var key: String?
  package var labels: [String: String] = [:]
  /// The time without a sign after which the machine counts as offline.
  package var silence = Duration.seconds(90)
  /// The most lines that wait for the broker.
  package var mostWaiting = 10_000
  /// The options of `netwatch --follow`.
  package var followOptions: [String] = []
  package var showsID = false
  package var makesNewID = false

  package init() {}

  @OptionTable<PublishOptions> package static var options: [Option<PublishOptions>] {
    Option.operand(
      "broker", of: [.mqtt], help: "The broker: mqtts://HOST, mqtts://HOST:PORT, or mqtt:// without encryption.",
      by: { text throws(PlainError) in text }
    ) { $0.broker = $1 }
    Option.text("--user", value: "name", of: [.mqtt], help: "Log in with this name.") { $0.user = $1 }
      .standard("the identity of the machine")
    Option.text(
      "--password-file", value: "path", of: [.mqtt], help: "Log in with the password in the first line of this file."
    ) { $0.passwordFile = $1 }
    .standard("the file 'password' of the credentials that systemd passes").suggesting(.files)
    Option.text(
      "--ca", value: "path", of: [.mqtt], help: "Trust the authorities in this file or folder, and no others."
    ) { $0.authorities = $1 }
    .standard("those of the system").suggesting(.files)
    Option.text("--certificate", value: "path", of: [.mqtt], help: "Log in with this certificate; needs --key.") {
      $0.certificate = $1
    }
    .suggesting(.files)
    Option.text("--key", value: "path", of: [.mqtt], help: "The key of the certificate.") { $0.key = $1 }
      .suggesting(.files)
    Option.parsed(
      "--label", value: "name=value", of: [.mqtt],
      help: "Tell this about the machine, such as region=north. May be repeated.",
      by: { text throws(PlainError) in try label(text) }
    ) { $0.labels[$1.name] = $1.value }
    .repeating()
    Option.seconds(
      "--silence", of: [.mqtt],
      help: "Count as offline after this long without a sign. A sign comes three times as often.",
      need: "a whole number from 15 to 86400",
      if: { $0 >= .seconds(15) && $0 <= .seconds(86_400) && $0.components.attoseconds == 0 }
    ) { $0.silence = $1 }
    .standard("90")
    Option.number(
      "--keep", in: 100...100_000, of: [.mqtt],
      help:
        "Keep at most so many lines while the broker is out of reach. Beyond that, the oldest become one record of a gap."
    ) { $0.mostWaiting = $1 }
    .standard("10000")
    Option.text(
      "--with", value: "option", of: [.mqtt],
      help: "Follow with this option of netwatch --follow, such as --with=--stages. May be repeated."
    ) { $0.followOptions.append($1) }
    .repeating()
    Option.flag("--show-id", of: [.mqtt], help: "Print the identity of this machine, and exit.") { $0.showsID = $1 }
    Option.flag(
      "--new-id", of: [.mqtt],
      help: "Give this machine a new identity, because it is a copy of another one; print it, and exit."
    ) { $0.makesNewID = $1 }
  }

  private static func label(_ text: String) throws(PlainError) -> (name: String, value: String) {
    guard let sign = text.firstIndex(of: "=") else { throw PlainError("write a label as name=value.") }
    let (name, value) = (text[..<sign], text[text.index(after: sign)...])
    let isName =
      !name.isEmpty && name.utf8.count <= 32
      && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    guard isName, name.first?.isNumber == false, value.utf8.count <= 128, !value.isEmpty else {
      throw PlainError("write a label as name=value: a name of letters, digits and '_', and a short value.")
    }
    return (String(name), String(value))
  }
}
