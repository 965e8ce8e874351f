import Netwatch

/// A command of netwatch, with what its help says of it.
package enum Command: String, CaseIterable, Sendable {
  /// What `netwatch --follow` does. It has no name on a command line.
  case follow
  /// Also what netwatch does without the name of a command.
  case status
  case wait, explain, open, get, transfers, serve, run, top, log, report, replay, snippet, mqtt
  case testHook = "test-hook"
  /// The parts of the helper programs that netwatch itself starts.
  case probe, portal, write, work

  /// The commands that have a name for users, in the order of the help.
  package static let named: [Command] = [
    .status, .wait, .explain, .open, .get, .transfers, .serve, .run, .top, .log, .report, .mqtt, .replay, .snippet,
    .testHook,
  ]

  package static let names = named.map(\.rawValue)

  /// Returns the command with a name; nil if there is none.
  init?(named name: String) {
    guard let command = Self.named.first(where: { $0.rawValue == name }) else { return nil }
    self = command
  }

  /// Whether a helper program does the work, which reads the words after the name of the command.
  package var hasOwnProgram: Bool { [.get, .transfers, .log, .report, .mqtt].contains(self) }

  /// A sentence that says what the command does.
  package var abstract: String {
    switch self {
    case .follow: "Print the present state, then a line for each change."
    case .status: "Print the present state and exit."
    case .wait: "Wait until the network is reachable, or until conditions hold."
    case .explain: "Explain step by step why a target is reachable, or why not."
    case .open: "Open the login page of a captive portal in the browser."
    case .get: "Download a file, and resume an interrupted download."
    case .transfers: "Show the downloads and uploads that go on in the background, and pause or end them."
    case .serve: "Run the shared service: one monitor and one activity indicator for all programs."
    case .run: "Run a command and count it as one request while it runs."
    case .top: "Show what each program receives and sends over TCP, once a second."
    case .log: "Print the changes in the log, or the outages."
    case .report: "Write a web page about the outages and changes in the log."
    case .mqtt: "Tell an MQTT broker each change of this machine, and whether it is there."
    case .replay: "Print the lines that a recording leads to."
    case .snippet: "Print the configuration of a status bar that shows netwatch."
    case .testHook: "Run a hook once with an example of a change."
    case .probe: "Print what a probe of the internet finds: full, portal, none or unknown; and where the portal is."
    case .portal: "Print what the portal API of a network answers, in the words of RFC 8908."
    case .work: "Carry out the transfers of background sessions until none is left."
    case .write: "Store lines of the stream from standard input in the log."
    }
  }

  /// What else users have to know of the command; nil if that is nothing.
  var discussion: String? {
    switch self {
    case .status:
      """
      Add --quality to print the round-trip time and the loss, and --stages to print which stage of the way to the internet \
      fails. 'netwatch status --help-all' lists every option.
      """
    case .wait:
      """
      With --probe, wait also until the internet answers. Exit status: 0 the conditions hold, 1 timed out, 2 could not run. \
      'netwatch wait --help-all' lists every option.
      """
    case .explain:
      """
      For IPv4 and IPv6, explain prints the routing rule, the route, its interface, the source address, the tunnel with the \
      interface beneath it, and the interface that carries the traffic. Without a target, it also prints which stage of the way \
      to the internet fails. 'netwatch explain --help-all' lists every option.

      Exit status: 0 reachable, 1 not reachable, 2 could not run.
      """
    case .open:
      """
      The command asks the URL of --probe once, or with --portal-api the server that the network names. If there is a login page, \
      its address is opened with xdg-open. The address is printed first, unless its host is that of the probe or the gateway.

      Exit status: 0 opened, 1 there is no login page that can be opened, 2 could not run.
      """
    case .get:
      """
      After an interruption, the same command requests only the rest, provided the server reports that the file is unchanged. \
      Until the file is complete, the data is in FILE.netwatch-part. The download counts as a request while it runs.

      Exit status: 0 done, 1 failed, 2 could not run, 64 wrong usage.
      """
    case .transfers:
      """
      'netwatch get --later' and programs with background sessions make transfers. They run without a terminal, follow the network \
      from one uplink to another, and go on after a crash or a restart. Those that have ended stay in the list until 'netwatch \
      transfers clear'.

      Exit status: 0 done, 1 there is no such transfer, 2 could not run, 64 wrong usage.
      """
    case .serve:
      """
      The service listens on --socket, otherwise on $NETWATCH_SOCKET, otherwise on $XDG_RUNTIME_DIR/netwatch.sock; without \
      these, root listens on /run/netwatch/netwatch.sock. If systemd passes a socket, that one is used. SIGTERM and SIGINT \
      end the service; SIGHUP makes it read everything from the kernel again. Add --exec or --hooks to run programs for each \
      line, --log to store changes and outages, and --traffic beside --log to store the bytes of each day.
      """
    case .run:
      """
      Bars that use the service show the activity while the command runs. Without a service, the command runs all the same. \
      netwatch passes signals to the command and exits with its exit status; 126 and 127 mean the same as in a shell.
      """
    case .top:
      """
      top counts payload, from its own start. Connections within this machine are left out. Unless you are root, all programs of \
      another user share a row. On a terminal, the keys a, r, s, c and n sort by both rates, received, sent, connections and name; \
      q quits. If standard output is not a terminal, top prints the table again each second.
      """
    case .log:
      """
      netwatch --follow --log and netwatch serve --log write the log. To keep one in the background: systemctl --user enable --now \
      netwatch-log

      Exit status: 0 done, 2 there is no log or it cannot be read, 64 wrong usage.
      """
    case .report:
      """
      The page is one file without scripts, and loads nothing. It contains the names of WiFi networks, which reveal where you \
      were. Without --since, it covers the last 30 days.

      Exit status: 0 done, 2 there is no log, or the page cannot be written, 64 wrong usage.
      """
    case .mqtt:
      """
      Each change comes to the broker once and in order, also what happened while the broker could not be reached: lines wait in a \
      file until the broker has acknowledged them. The topics are netwatch/1/ID/line, /presence and /alive, where ID is an identity \
      that the first start makes, and 'netwatch mqtt --show-id' prints. A broker with logins needs one of that name.

      Exit status: 0 ended by a signal, 2 could not run, 64 wrong usage.
      """
    case .replay:
      """
      'netwatch --follow --record FILE' makes a recording. replay asks neither the kernel nor a service, and does not wait \
      between lines. It stops with exit status 2 where the file is damaged, or where this netwatch would ask the kernel something \
      that the recording does not contain.
      """
    case .snippet:
      """
      The first line names the file that the configuration belongs in. The configuration runs netwatch with the options that you \
      give here. If the bar does not find netwatch in its PATH, write its full path.
      """
    case .testHook:
      """
      The file is checked and run as by --hooks, whatever its name is, but its output goes to standard output. Its exit status \
      is printed on standard error and becomes that of netwatch; 2 if the file cannot run.
      """
    case .follow, .probe, .portal, .write, .work: nil
    }
  }

  /// The command line where the list of options does not show what is necessary; otherwise nil.
  var usage: String? { self == .open ? "netwatch open (--probe <url> | --portal-api) [<options>]" : nil }
}
