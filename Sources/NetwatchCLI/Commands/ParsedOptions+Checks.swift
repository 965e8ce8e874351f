import Netwatch
import NetwatchEventLoop
import NetwatchOptions
import NetwatchStream

/// Whether the options of a line fit together. The parser has checked that each belongs to the command.
extension ParsedLine<ParsedOptions> {
  /// - Throws: A `UsageError` about the first options that do not.
  func check() throws {
    try checkOutput()
    try checkConditions()
    try checkFollowing()
    try checkWatching()
    try checkTraffic()
    try checkSingleCommands()
  }

  private func checkOutput() throws {
    let output = values.output
    if output.isJSON, let format = output.format, format != .json {
      throw UsageError("--json and --format \(format.name) contradict each other; give one.")
    }
    if output.wantsJSON, let option = given(among: OutputOptions.barOptions) {
      throw UsageError("JSON does nothing with \(option); leave out \(option).")
    }
    if command == .explain || command == .top, case .bar = output.format {
      throw UsageError("\(command.rawValue) is too long for a bar; give --format text or --format json.")
    }
    do throws(PlainError) {
      _ = try output.makeRenderer()
    } catch {
      throw UsageError("--template: \(error.description).")
    }
    let others = [
      "--format", "--json", "--color", "--verbose", "--programs", "--wifi-details", "--bssid", "--interfaces",
      "--quality", "--stages", "--network-id", "--announced", "--portal-api", "--cable", "--each",
    ]
    if values.isPrometheus, let option = given(among: OutputOptions.barOptions + others) {
      throw UsageError("--prometheus is a format of its own; leave out \(option).")
    }
  }

  private func checkConditions() throws {
    let conditions = values.conditions
    if command == .status, !values.checks, let option = given(among: ["--for", "--quiet"]) {
      throw UsageError("\(option) belongs to --check; add --check.")
    }
    if values.watch.probe.url == nil, let condition = conditions.needingProbe {
      throw UsageError("\(condition) needs an answer from a server; add --probe.")
    }
    guard conditions.contains(.notReachable) else { return }
    if conditions.contains(where: { $0 != .notReachable }) {
      throw UsageError("--for not-reachable cannot be combined with another condition; leave out one of them.")
    }
    if values.watch.probe.url != nil {
      throw UsageError(
        """
        --probe asks whether the internet answers, and --for not-reachable whether nothing is reachable; leave out one.
        """)
    }
  }

  private func checkFollowing() throws {
    if given(among: ["--exec-timeout"]) != nil, !values.hooks.areWanted {
      throw UsageError("--exec-timeout belongs to --exec and --hooks; add one of them.")
    }
    if values.recordingPath != nil {
      if values.watch.counts != .requests {
        throw UsageError("--record does not hold what is in flight; leave out --activity.")
      }
      if values.watch.probe.url != nil {
        throw UsageError("--record does not hold what a probe finds; leave out --probe.")
      }
      if values.watch.stages { throw UsageError("--record does not hold which stage fails; leave out --stages.") }
    }
    if values.isLogged, let option = given(among: ["--target", "--interface", "--ignore"]) {
      throw UsageError("--log stores whether the internet is reachable over any interface; leave out \(option).")
    }
  }

  private func checkWatching() throws {
    do throws(PlainError) {
      try values.watch.check()
    } catch {
      throw UsageError(error.description)
    }
    if command == .open, values.watch.probe.url == nil, !values.watch.asksPortal {
      throw UsageError(
        "open needs a server to ask; add --probe URL, or --portal-api for the one that the network names.")
    }
    if command == .status, values.watch.counts.contains(.udp) {
      throw UsageError("--activity udp takes more than one look; use netwatch -f, or leave out udp.")
    }
  }

  private func checkTraffic() throws {
    if command == .serve, !values.isLogged, let option = given(among: ["--traffic"]) {
      throw UsageError("serve uses \(option) only for the bytes in the log; add --log, or leave out \(option).")
    }
    let isShown = values.shownTrafficInterval != nil || command == .top
    if !isShown, let option = given(among: ["--traffic-interval", "--units"]) {
      throw UsageError("\(option) belongs to --traffic; add --traffic.")
    }
  }

  private func checkSingleCommands() throws {
    switch command {
    case .explain:
      if values.target != nil, values.watch.target != .internet { throw UsageError("There are two targets; give one.") }
    case .run:
      if let label = values.label, label.utf8.count > 256 { throw UsageError("--label takes at most 256 bytes.") }
    case .top:
      if values.output.wantsJSON, let option = given(among: ["--sort", "--units"]) {
        throw UsageError("\(option) belongs to text; give --format text.")
      }
    case .snippet:
      if let url = values.watch.probe.url, !url.allSatisfy(SnippetCommand.plain.contains) {
        throw UsageError(
          """
          The URL of --probe has characters that may have a meaning in a bar's configuration; write it there yourself.
          """)
      }
      if values.watch.traffic, let bar = values.bar, !bar.isFed {
        throw UsageError("\(bar.name) asks for one line at a time, which has no rate; leave out --traffic.")
      }
    case .testHook:
      guard values.ssid != nil else { return }
      if values.exampleStatus != .wifi {
        throw UsageError("--ssid works only with --status wifi; leave out --ssid or --status.")
      }
      if TestHookCommand.name(values.ssid) == nil { throw UsageError("--ssid takes at most \(SSID.capacity) bytes.") }
    default: break
    }
  }
}
