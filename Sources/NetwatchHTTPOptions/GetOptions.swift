import ArgumentParser
import Netwatch

/// The options of `get`: of `netwatch get`, which refuses what is wrong with them, and of `netwatch-http get`, which obeys them.
package struct GetOptions: ParsableArguments {
  package static let abstract = "Download a file, and go on with what an earlier run has left of it."
  package static let discussion = """
    Run again after an interruption, it asks for the rest alone, if the server says that the file is still the same. What \
    has come lies in FILE.netwatch-part until all has. It counts as a request while it runs.

    Exit status: 0 done, 1 failed, 2 could not run, 64 wrong usage.
    """

  @Argument(help: ArgumentHelp("Where the file is; a user and a password may stand in it.", valueName: "url"))
  package var url: String

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Where it goes; - is standard output. Default: the last part of the URL.", valueName: "file"),
    completion: .file())
  package var output: String?

  @Flag(help: "Replace a file that is there.")
  package var force = false

  @Option(
    name: .customLong("pin"), parsing: .singleValue,
    help: ArgumentHelp(
      "Also want the key of this certificate, in PEM or DER, in the server's chain; may be repeated.",
      valueName: "file"), completion: .file())
  package var pins: [String] = []

  @Option(
    name: [.customShort("H"), .customLong("header")], parsing: .singleValue,
    help: ArgumentHelp("Send this header field, such as 'Accept: text/csv'; may be repeated.", valueName: "field"))
  package var headers: [String] = []

  @Option(
    help: ArgumentHelp("Try again so often where the network or the server fails, and go on.", valueName: "n"))
  package var retry = 0

  @Option(
    help: ArgumentHelp(
      "Fail once the route of the connection has been gone or changed for this long; 0 fails at once.",
      valueName: "seconds"))
  package var pathLossGrace = 3.0

  @Flag(name: .shortAndLong, help: "Show no progress; say only what has failed.")
  package var quiet = false

  package init() {}

  package mutating func validate() throws {
    do throws(Refusal) {
      let address = try WebAddress(url)
      guard address.isSecure || pins.isEmpty else { throw Refusal("--pin needs a URL with https://.") }
      guard output != nil || address.fileName != nil else {
        throw Refusal("The URL does not end in a file's name; give one with --output.")
      }
      for header in headers { _ = try HeaderField(header) }
    } catch {
      throw ValidationError(error.description)
    }
    if output == "" { throw ValidationError("--output needs the name of a file.") }
    // What the parser has made of bytes that are no text.
    if let output, output.contains("\u{fffd}") { throw ValidationError("The name of the file is not UTF-8.") }
    guard 0...86_400 ~= pathLossGrace else {
      throw ValidationError("--path-loss-grace needs a number of seconds from 0 to 86400.")
    }
    guard 0...1_000 ~= retry else { throw ValidationError("--retry needs a number from 0 to 1000.") }
  }
}

/// One header field as a person writes it.
package struct HeaderField: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ text: String) throws(Refusal) {
    guard let colon = text.firstIndex(of: ":") else {
      throw Refusal("A header field is written as 'Name: value'.")
    }
    name = String(text[..<colon])
    value = String(text[text.index(after: colon)...].drop { $0 == " " })
    let isToken =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
    guard isToken else { throw Refusal("A header field's name has letters, digits and dashes alone.") }
    guard !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" }) else {
      throw Refusal("The value of \(name) has a control character in it.")
    }
    guard !["range", "if-range"].contains(name.lowercased()) else {
      throw Refusal("get says by itself which part it wants; leave out \(name).")
    }
  }
}
