import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchStream

/// `netwatch open`: opens the login page of a captive portal.
struct OpenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "open", abstract: "Open the login page of a captive portal in the browser.",
    usage: "netwatch open --probe <url> [<options>]",
    discussion: """
      The command asks the URL of --probe once. If a login page answers, its address is opened with xdg-open. The address is printed first, unless its host is that of the probe or the gateway.

      Exit status: 0 opened, 1 there is no login page that can be opened, 2 could not run.
      """)

  @ParentCommand var root: NetwatchTool

  @OptionGroup(visibility: .rare) var path: PathOptions
  @OptionGroup var probe: ProbeOptions

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self, but: [PathOptions.self, ProbeOptions.self])
    try probe.refuseInterval()
    if probe.probe == nil {
      throw ValidationError("open needs a URL to ask; add --probe URL.")
    }
  }

  func run() throws {
    let isOpen = try PlainError.reporting {
      let record = try ask()
      let output = try StandardOutput()
      guard let portal = record?.portalURL else {
        let words: StaticString =
          switch record?.internet {
          case .portal: "a login page answers, but its address cannot be opened, or its certificate is wrong"
          case .full: "there is no login page: the internet answers"
          case .absent: "there is no login page: nothing answers"
          case .unknown, nil: "no login page is known: the answer proves nothing"
          }
        try output.write("\(words)\n")
        return false
      }
      if !isExpected(portal, record) { try output.write("The login page is at \(portal.encoded)\n") }
      try PortalOpener.open(portal)
      return true
    }
    if !isOpen { throw ExitCode(1) }
  }

  /// Returns whether the login page is at an expected place: on the host of the probe or on the gateway.
  private func isExpected(_ portal: PortalURL, _ record: EventRecord?) -> Bool {
    let asked = probe.probe.flatMap(PortalURL.init)?.host
    let gateways = record?.path.gateways.map(\.description) ?? []
    return ([asked].compactMap { $0 } + gateways).contains(portal.host)
  }

  private func ask() throws -> EventRecord? {
    var options = LineSource.Options()
    options.configuration = path.configuration
    options.probe = probe.settings
    options.probe?.isRequired = true
    options.probe?.holdsFirstLine = true
    var record: EventRecord?
    var finish = {}
    let source = try LineSource(options, on: EventLoop()) {
      record = $0
      finish()
    }
    finish = { [unowned source] in source.finish() }
    try source.start()
    try source.run()
    source.stop()
    return record
  }
}
