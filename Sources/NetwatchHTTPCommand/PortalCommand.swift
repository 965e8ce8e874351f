import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchOptions
import NetwatchPortal
import NetwatchStream

/// `netwatch-http portal`: asks the portal API of a network once, for `--portal-api`.
struct PortalCommand {
  /// The user and group of nobody in every distribution.
  private static let nobody: UInt32 = 65_534

  private var address: PortalURL?
  private var interface = ""
  private var nameServers: [InternetAddress] = []
  private var userAgent = "netwatch"

  @OptionTable<PortalCommand> static var options: [Option<PortalCommand>] {
    Option.operand("url", of: [.portal], help: "The API to ask.", by: Self.checked) { $0.address = $1 }
      .required()
    Option.text("--interface", value: "name", of: [.portal], help: "Go out over this interface, and no other.") {
      $0.interface = $1
    }
    Option.text(
      "--name-server", value: "address", of: [.portal],
      help: "Ask this server for the host of the URL. May be repeated."
    ) { if let server = InternetAddress($1) { $0.nameServers.append(server) } }
    .repeating()
    Option.text("--user-agent", value: "text", of: [.portal], help: "Tell the server that this program asks.") {
      $0.userAgent = $1
    }
    .standard("netwatch")
  }

  @Sendable private static func checked(_ text: String) throws(PlainError) -> PortalURL {
    guard let address = PortalURL(text), address.isSecure else {
      throw PlainError("'\(text.sanitizedForTerminal)' is no URL with https://.")
    }
    return address
  }

  func run() throws -> ProcessEnding {
    guard let address else { return .exited(64) }
    Self.dropPrivileges()
    // A new user would make the kernel forget this.
    ParentProcess.endWith()
    let client = HTTPPortalAPIClient(userAgent: userAgent)
    Task { [self] in
      let text: String
      do {
        let portal = try await client.portal(at: address, over: interface, nameServers)
        text = Self.line(portal)
      } catch {
        text = "no answer: \("\(error)".sanitizedForTerminal)\n"
      }
      var line = text
      line.withUTF8 { text in _ = unsafe write(STDOUT_FILENO, text.baseAddress, text.count) }
      _exit(0)
    }
    while true { pause() }
  }

  /// Becomes nobody if root has started this process, because it reads what a stranger's server sends. In a user namespace that has no
  /// such user, root is an ordinary user anyway.
  private static func dropPrivileges() {
    guard geteuid() == 0 else { return }
    setgroups(0, nil)
    setgid(nobody)
    setuid(nobody)
  }

  /// The answer in the words of RFC 8908, with only what was understood.
  private static func line(_ portal: CaptivePortal) -> String {
    var members: [String: JSONValue] = ["captive": .bool(portal.isCaptive)]
    if let page = portal.loginPage { members["user-portal-url"] = .string(page.description) }
    if let page = portal.venuePage { members["venue-info-url"] = .string(page.description) }
    if let seconds = portal.secondsRemaining { members["seconds-remaining"] = .integer(Int64(seconds)) }
    if let bytes = portal.bytesRemaining { members["bytes-remaining"] = .integer(bytes) }
    var line = LineBuffer(capacity: 256)
    line.append(JSONValue.object(members))
    return line.text + "\n"
  }
}
