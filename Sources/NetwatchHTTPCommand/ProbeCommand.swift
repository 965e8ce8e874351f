import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchLibC
import NetwatchOptions

/// `netwatch-http probe`: tests once whether the internet is reachable, for `--probe`.
struct ProbeCommand {
  private var url = ""
  private var interface: String?
  private var timeout = Duration.seconds(10)
  private var expectation: String?
  private var userAgent = "netwatch"

  @OptionTable<ProbeCommand> static var options: [Option<ProbeCommand>] {
    Option.operand("url", of: [.probe], help: "The server to ask.", by: { url throws(PlainError) in url }) {
      $0.url = $1
    }
    .required()
    Option.text("--interface", value: "name", of: [.probe], help: "Go out over this interface.") { $0.interface = $1 }
    Option.seconds("--timeout", of: [.probe], help: "Give up after this time.") { $0.timeout = $1 }
      .standard("10")
    Option.text(
      "--expect", value: "text", of: [.probe], help: "Expect status 200 with a body that begins with this text."
    ) {
      $0.expectation = $1
    }
    Option.text("--user-agent", value: "text", of: [.probe], help: "Tell the server that this program asks.") {
      $0.userAgent = $1
    }
    .standard("netwatch")
  }

  func run() throws -> ProcessEnding {
    ParentProcess.endWith()
    let request = try ProbeRequest(url, expecting: expectation)
    request.set(timeout: timeout / .seconds(1), userAgent: userAgent, interface: interface)
    let finding = try request.perform()
    var line = "\(finding.access.rawValue) (\(finding.words))\n"
    if let portal = request.portal { line += "\(portal)\n" }
    line.withUTF8 { text in _ = unsafe write(STDOUT_FILENO, text.baseAddress, text.count) }
    // libcurl would wait for a name that is still being looked up.
    _exit(0)
  }
}
