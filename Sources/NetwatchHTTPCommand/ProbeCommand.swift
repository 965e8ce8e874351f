import ArgumentParser
import CLinux
import Glibc
import Netwatch

/// `netwatch-http probe`: tests once whether the internet is reachable, for `--probe`.
struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe",
    abstract: "Print what a probe of the internet finds: full, portal, none or unknown; and where the portal is.")

  @Option(help: "Go out over this link.")
  var interface: String?

  @Option(help: "Give up after this many seconds.")
  var timeout = 10.0

  @Option(help: "What a 200 has to begin with.")
  var expect: String?

  @Option(help: "What the server is told of us.")
  var userAgent = "netwatch"

  @Argument(help: "Whom to ask.")
  var url: String

  func run() throws {
    Self.dieWithParent()
    let request = try ProbeRequest(url, expecting: expect)
    request.set(timeout: timeout, userAgent: userAgent, interface: interface)
    let finding = try request.perform()
    var line = "\(finding.access.rawValue) (\(finding.words))\n"
    if let portal = request.portal { line += "\(portal)\n" }
    line.withUTF8 { text in _ = unsafe write(STDOUT_FILENO, text.baseAddress, text.count) }
    // libcurl would wait for a name that is still being looked up.
    _exit(0)
  }

  /// Makes the kernel end this process when netwatch has ended, in whatever way, because nobody needs the result any more.
  private static func dieWithParent() {
    _ = netwatch_set_parent_death_signal(SIGKILL)
    // netwatch may have ended before. Its end of the pipe is then closed.
    var reader = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if unsafe poll(&reader, 1, 0) > 0, reader.revents & Int16(POLLERR) != 0 { _exit(0) }
  }
}
