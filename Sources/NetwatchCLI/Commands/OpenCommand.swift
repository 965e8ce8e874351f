import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchStream

/// `netwatch open`: opens the login page of a captive portal.
struct OpenCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
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
      return .exited(1)
    }
    if !isExpected(portal, record) { try output.write("The login page is at \(portal.encoded)\n") }
    try PortalOpener.open(portal)
    return .exited(0)
  }

  /// Returns whether the login page is at an expected place: on the host of the probe or on the gateway.
  private func isExpected(_ portal: PortalURL, _ record: EventRecord?) -> Bool {
    let asked = options.watch.probe.url.flatMap(PortalURL.init)?.host
    let gateways = record?.path.gateways.map(\.description) ?? []
    return ([asked].compactMap { $0 } + gateways).contains(portal.host)
  }

  private func ask() throws -> EventRecord? {
    var lines = StatusOptions()
    lines.configuration = options.watch.configuration
    options.setRules(of: &lines)
    lines.probe?.holdsFirstLine = true
    var record: EventRecord?
    var finish = {}
    let source = try StatusSource(lines, on: EventLoop()) {
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
