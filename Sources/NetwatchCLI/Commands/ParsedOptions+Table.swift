import Netwatch
import NetwatchLines
import NetwatchNetlink
import NetwatchOptions
import NetwatchStream

extension ParsedOptions {
  /// The table of all options of netwatch, in the order of the helps.
  @OptionTable<ParsedOptions> static var options: [Option<ParsedOptions>] {
    ownOptions
    outputOptions
    stateOptions
    shared(WatchOptions.linkOptions + [WatchOptions.targetOption, WatchOptions.serviceOption])
    Option.flag(
      "--no-rules", of: [.follow, .status, .wait, .explain, .open, .serve],
      help: "Do not read the files of rules, such as /etc/netwatch/rules."
    ) { $0.ignoresRules = $1 }
    .under("Interfaces and targets").rare(in: [.status, .wait, .explain, .open, .serve])
    .manual("See netwatch-rules(5).")
    shared(WatchOptions.activityOptions)
    detailOptions
    shared(WatchOptions.probeOptions + WatchOptions.trafficOptions)
    unitsOption
    shared(WatchOptions.wifiOptions)
    followOptions
    fileOptions
  }

  private static func shared(_ options: [Option<WatchOptions>]) -> [Option<ParsedOptions>] {
    options.map { $0.within(\.watch) }
  }

  // MARK: Single commands

  @OptionTable<ParsedOptions> private static var ownOptions: [Option<ParsedOptions>] {
    Option.operand(
      "target", of: [.explain], help: "The address or the host to explain.", by: NetworkTarget.init(optionValue:)
    ) { $0.target = $1 }
    .standard("the internet")
    Option.operand(
      "bar", of: [.snippet], help: "The bar: \(Bar.names.joined(separator: ", ")).",
      by: { name throws(PlainError) in try Bar.named(name) }
    ) {
      $0.bar = $1
    }
    .required().suggesting(.words { Bar.names })
    Option.operand("file", of: [.testHook], help: "The file to run.", by: { path throws(PlainError) in path }) {
      $0.file = $1
    }
    .required().suggesting(.files)
    Option.parsed(
      "--netns", value: "name|pid", of: [.follow, .status, .wait, .explain, .serve],
      help: "Enter this network namespace: that of a process, or one of ip netns.", by: ForeignNetwork.Place.read
    ) { $0.place = $1 }
    .rare(in: [.status, .wait, .explain])
    .manual(
      """
      Root may enter each, a user that of an own container without root; hooks run there too. When it is gone, --follow prints \
      a last line with the reason namespace_ended.
      """)
    Option.seconds("-t", "--timeout", of: [.wait], help: "Give up after this time.") { $0.timeout = $1 }
      .standard("never")
    Option.text("--socket", value: "path", of: [.serve], help: "Listen on this path.") { $0.socket = $1 }
      .suggesting(.files)
    Option.number("--connections", in: 1...Int.max, of: [.serve], help: "Accept at most N clients.") {
      $0.connections = $1
    }
    .standard("\(EventServer.standardConnectionLimit)")
    Option.text(
      "--user", value: "name", of: [.serve],
      help: "Switch to this user after the socket was created. Only root can do this."
    ) { $0.user = $1 }
    Option.text(
      "--label", value: "text", of: [.run],
      help: """
        Name the request, for netwatch -v. Only you can see the name, and root if the service runs for the whole machine.
        """
    ) { $0.label = $1 }
    .standard("the name of the command")
    Option.rest("command", of: [.run], help: "The command and its arguments.") { $0.command.append($1) }
      .repeating().suggesting(.programs)
    Option.flag("--once", of: [.top], help: "Print the figures of one second and exit.") { $0.isOnce = $1 }
    Option.choice(
      "--sort", value: "sort", of: [.top],
      help: "Sort the table in this order: \(ProgramTable.Order.list). all means by both rates."
    ) { $0.order = $1 }
    .standard("all")
    Option.choice(
      "--by", value: "what", of: [.top],
      help: """
        Print a row for each program, process or unit: \(ProgramFigures.Grouping.list). A unit is one of systemd, or a \
        container.
        """
    ) { $0.grouping = $1 }
    .standard("name")
    Option.choice(
      "--status", value: "status", of: [.testHook], help: "Use this status in the example: \(ReachabilityStatus.list)."
    ) { $0.exampleStatus = $1 }
    .standard("wifi")
    Option.text(
      "--ssid", value: "name", of: [.testHook],
      help: "Use this name for the WiFi network in the example, at most 32 bytes."
    ) { $0.ssid = $1 }
    .standard("Example")
  }

  // MARK: Output

  private static let lines: [Command] = [.follow, .status, .wait, .replay]

  @OptionTable<ParsedOptions> private static var outputOptions: [Option<ParsedOptions>] {
    Option.parsed(
      "--format", value: "format", of: lines + [.explain, .top],
      help: "Print this format: text, json, or that of a bar: \(Bar.names.joined(separator: ", ")).",
      by: OutputFormat.named
    ) { $0.output.format = $1 }
    .help(in: .explain, .top, text: "Print text or json. Default: text.")
    .standard("text; with an option for bars, a plain line")
    .suggesting(.words { OutputFormat.names }).under("Output")
    Option.flag("--json", of: lines + [.explain, .top], help: "Print JSON lines, as --format json does.") {
      $0.output.isJSON = $1
    }
    .under("Output")
    Option.choice(
      "--color", value: "color", of: lines + [.explain, .top],
      help: """
        Colour the output: auto, always or never. auto colours text on a terminal, unless NO_COLOR is set and not empty, and \
        the output for bars that can show colours.
        """
    ) { $0.output.color = $1 }
    .help(
      in: .explain, .top,
      text: """
        Colour the text: auto, always or never. auto colours text on a terminal, unless NO_COLOR is set and not empty.
        """
    )
    .standard("auto").under("Output")
    Option.text(
      "--template", value: "text", of: lines,
      help: """
        Show this text, such as '{icon} {ssid|interface}{ ip}'. Fields stand in braces; | takes the first field that is not \
        empty; spaces inside the braces appear only together with the field; {{ is a brace. Values are escaped for the bar; \
        your own text may be markup. Fields: \(BarField.list).
        """
    ) { $0.output.template = $1 }
    .under("Status bars").rare(in: [.status, .wait, .replay])
    Option.choice(
      "--icons", value: "icons", of: lines,
      help: "Use these marks: unicode; nerd, which needs a font of nerdfonts.com; ascii; or none, which uses words."
    ) { $0.output.icons = $1 }
    .standard("unicode").under("Status bars").rare(in: [.status, .wait, .replay])
    Option.number(
      "--max-width", in: 1...Int.max, of: lines, help: "Shorten long values so that the text fits in N characters."
    ) { $0.output.maximumWidth = $1 }
    .under("Status bars").rare(in: [.status, .wait, .replay])
    Option.choice(
      "--hide-when", value: "when", of: lines,
      help: """
        Show nothing in this case: \(BarLook.Occasion.list). wifi, wired, wwan, bluetooth, virtual and other: while an \
        interface of this kind carries the traffic. idle: while the activity mark is not shown. May be repeated.
        """
    ) { $0.output.hidden.append($1) }
    .repeating().under("Status bars").rare(in: [.status, .wait, .replay])
    .manual("A fault that --probe finds is shown all the same.")
  }

  // MARK: The state

  @OptionTable<ParsedOptions> private static var stateOptions: [Option<ParsedOptions>] {
    Option.parsed(
      "--for", value: "condition", of: [.status, .wait],
      help: "With --check or wait, require this condition: \(conditionHelp)",
      by: NetworkCondition.named
    ) { $0.conditions.append($1) }
    .help(in: .status, text: "With --check, require this condition: \(conditionHelp)")
    .help(in: .wait, text: "Wait for this condition: \(conditionHelp)")
    .standard("reachable").repeating().suggesting(.words { NetworkCondition.suggestions })
    .manual(
      """
      Each condition except not-reachable, stage= and uplink= needs the network to be reachable. unmetered: the interface that carries \
      the traffic is known, and nothing shows that it may cost money. medium= and wired: this kind of interface carries it, \
      beneath any VPN. vpn and not-vpn: it goes through a tunnel, or through none. internet: the server of --probe has \
      answered as it should, and not a login page. uplink=: an interface of this kind carries the traffic or could. network= takes what --network-id prints.
      """)
    shared([WatchOptions.interfacesOption])
    Option.flag(
      "--check", of: [.status],
      help: "Exit with status 0 if the network is reachable, otherwise with 1. With --for, its conditions decide."
    ) { $0.checks = $1 }
    .under("State")
    Option.flag(
      "-q", "--quiet", of: [.status, .wait], help: "With --check or wait, print nothing; only set the exit status."
    ) { $0.isQuiet = $1 }
    .manual("Errors are still named, and so is a broken line in a file of rules.")
    .help(in: .status, text: "With --check, print nothing; only set the exit status.")
    .help(in: .wait, text: "Print nothing; only set the exit status.")
    .under("State")
    shared([WatchOptions.networkOption])
  }

  private static let conditionHelp = """
    \(NetworkCondition.names.joined(separator: ", ")). As in AFNetworking, wifi is everything that is not cellular, also a cable; for \
    WiFi alone, use medium=wifi. MEDIUM is \(Medium.list). May be repeated: all must hold. A condition that netwatch cannot \
    judge does not hold.
    """

  @OptionTable<ParsedOptions> private static var detailOptions: [Option<ParsedOptions>] {
    Option.flag(
      "-v", "--verbose", of: lines + [.explain, .serve],
      help: """
        In text of --follow: \(reason), and the names of what is in flight (programs with TCP connections, and labels of your \
        own requests). In text without --follow: \(figures) \(missing)
        """
    ) { $0.isVerbose = $1 }
    .help(in: .status, text: "In text: \(figures) \(missing)")
    .help(in: .wait, text: "In text: \(reason). \(missing)")
    .help(in: .replay, text: "In text: \(reason).")
    .help(in: .explain, .serve, text: missing)
    .under("Output")
    Option.flag(
      "--programs", of: [.follow, .status],
      help: "In JSON, also name the programs whose TCP connections are in flight."
    ) { $0.namesPrograms = $1 }
    .under("Activity").rare(in: [.status])
  }

  private static let reason = "add a sentence that says why the state has changed"
  private static let figures = """
    add the labels of your own requests, the figures of WiFi, the round-trip time, the loss, and what keeps each interface \
    from working.
    """
  private static let missing =
    "If this kernel lacks something that netwatch uses, standard error says so once."

  // MARK: Throughput

  private static var unitsOption: Option<ParsedOptions> {
    .choice(
      "--units", value: "units", of: [.follow, .top, .snippet],
      help: "Show rates in bits or bytes per second, in text and in {down} and {up} of a template."
    ) { $0.units = $1 }
    .help(in: .top, text: "Show rates in bits or bytes per second. JSON always has bits.")
    .standard("bits").under("Throughput")
  }

  // MARK: Following

  @OptionTable<ParsedOptions> private static var followOptions: [Option<ParsedOptions>] {
    Option.flag("-f", "--follow", of: [.follow], help: "Print the present state, then a line for each change.") {
      _, _ in
    }
    shared([WatchOptions.holdOption])
    Option.number("--count", in: 1...Int.max, of: [.follow], help: "With --follow, exit after N lines.") {
      $0.count = $1
    }
    shared([WatchOptions.signalOption, WatchOptions.qualityOption] + WatchOptions.stageOptions)
    shared(WatchOptions.announcementOptions)
    shared(WatchOptions.cableOptions)
    shared(WatchOptions.uplinkOptions)
    Option.flag(
      "--prometheus", of: [.status],
      help: "Print metrics for the textfile collector of the Prometheus node_exporter."
    ) { $0.isPrometheus = $1 }
    .manual("If a service runs, it has counted outages since its start; otherwise these metrics are left out.")
  }

  @OptionTable<ParsedOptions> private static var fileOptions: [Option<ParsedOptions>] {
    Option.text(
      "--exec", value: "command", of: [.follow, .serve],
      help: """
        With --follow or serve, run this shell command for each line, except those of --traffic. The command gets the line on \
        its standard input, and the state in NETWATCH_\(HookVariables.names.dropLast().joined(separator: ", _")) and _TEXT, a \
        sentence. NETWATCH_OLD_STATUS and so on have the previous values.
        """
    ) { $0.hooks.command = $1 }
    .help(
      in: .serve,
      text: """
        Run this shell command for each line. The command gets the line on its standard input, and the state in \
        NETWATCH_STATUS and other variables, which netwatch-serve(8) lists.
        """
    )
    .manual(
      "If several changes happen while the command runs, it runs once more, for the newest line. See netwatch-serve(8)."
    )
    Option.parsed(
      "--hooks", value: "folder", of: [.follow, .serve],
      help: """
        With --follow or serve, run the executable files of this folder as --exec runs its command, in the order of their \
        names. The files must belong to you or to root, and nobody else may be able to write to them.
        """,
      by: { path throws(PlainError) in
        if path.isEmpty { throw PlainError("write the path of a folder.") }
        return path
      }
    ) { $0.hooks.folder = $1 }
    .help(
      in: .serve,
      text: """
        Run the executable files of this folder as --exec runs its command, in the order of their names. The files must \
        belong to you or to root, and nobody else may be able to write to them.
        """
    )
    .suggesting(.folders)
    Option.seconds(
      "--exec-timeout", of: [.follow, .serve], help: "End a command of --exec or a file of --hooks after this time."
    ) { $0.hooks.timeout = $1 }
    .standard("90")
    Option.operand(
      "file", of: [.replay], help: "The file that --record has written.", by: { path throws(PlainError) in path }
    ) { $0.file = $1 }
    .required().suggesting(.files)
    Option.text(
      "--record", value: "file", of: [.follow],
      help: """
        With --follow, also write everything that netlink reports into this new file, which netwatch replay can play. No \
        service is used.
        """
    ) { $0.recordingPath = $1 }
    .suggesting(.files)
    .manual(
      "A recording does not contain activity, probes and stages, and files of rules do not count. See SECURITY CONSIDERATIONS."
    )
    Option.flag(
      "--log", of: [.follow, .serve],
      help: """
        With --follow or serve, also store changes and outages, which netwatch log prints; with --traffic, also the bytes of \
        each day. The log contains the names of WiFi networks, which reveal where you were.
        """
    ) { $0.isLogged = $1 }
    .help(
      in: .serve,
      text: """
        Store changes and outages, which netwatch log prints; with --traffic, also the bytes of each day. The log contains \
        the names of WiFi networks, which reveal where you were.
        """
    )
    .manual("See netwatch-log(1).")
  }
}
