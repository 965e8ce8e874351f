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
    guard let portal = record?.loginPage else {
      try output.write("\(refusal(of: record))\n")
      return .exited(1)
    }
    if !isExpected(portal, record) { try output.write("The login page is at \(portal.encoded)\n") }
    try PortalOpener.open(portal)
    return .exited(0)
  }

  /// Returns why there is nothing to open.
  private func refusal(of record: EventRecord?) -> StaticString {
    switch (record?.internet, record?.announcements?.captivePortal?.isCaptive) {
    case (_, true?): "the network asks for a login, but names no page that can be opened"
    case (.portal?, _): "a login page answers, but its address cannot be opened, or its certificate is wrong"
    case (.full?, _): "there is no login page: the internet answers"
    case (nil, false?): "there is no login page: the network says that no login is needed"
    case (.absent?, _): "there is no login page: nothing answers"
    case (.unknown?, _): "no login page is known: the answer proves nothing"
    case (nil, nil):
      record?.announcements?.portalAPI == nil
        ? "no login page is known: the network has not named its server; ask another one with --probe URL"
        : "no login page is known: the server that the network names has not answered"
    }
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
    lines.portal?.holdsFirstLine = true
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
