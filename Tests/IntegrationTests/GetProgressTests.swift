import Foundation
import NetwatchTestSupport
import Testing

/// Tests of what `netwatch get` shows while it runs, and of what other programs see of it.
@Suite struct GetProgressTests {
  private static let url = "http://127.0.0.1/"

  /// Starts a server of a file of six million bytes.
  ///
  /// - Parameter rate: The bytes that the server sends in a second, as nginx writes them. Default: `4m`.
  private func slowServer(_ rate: String = "4m") throws -> WebServer {
    let server = try WebServer("limit_rate \(rate);")
    try server.serve("it", bytes: 6_000_000)
    return server
  }

  /// Returns the frames of the progress line that were drawn, and the text after the last of them.
  private func frames(_ shown: String) throws -> (drawn: [String], rest: String) {
    #expect(!shown.contains { $0 == "\u{1b}" } || !shown.replacing("\u{1b}[K", with: "").contains("\u{1b}"))
    var parts = shown.split(separator: "\u{1b}[K", omittingEmptySubsequences: false).map(String.init)
    let rest = parts.removeLast()
    return (try parts.map { try #require($0.hasPrefix("\r") ? String($0.dropFirst()) : nil) }, rest)
  }

  @Test(arguments: [12, 24, 40, 80, 200])
  func `the progress fits the terminal, never passes 100 %, and leaves its line clean`(columns: Int) throws {
    let server = try slowServer()
    // On a busy machine there may be time for a few frames only. If so, the download is repeated.
    func frames() throws -> (drawn: [String], rest: String) {
      try? server.home.remove("it")
      return try self.frames(server.show("\(Self.url)it", columns: columns))
    }
    var (drawn, rest) = try eventually(frames()) { $0.drawn.count > 6 }
    // netwatch clears the progress line before its last message.
    #expect(drawn.removeLast() == "")
    #expect(try #/it: 6\.0 MB in \d+:\d\d\r/#.wholeMatch(in: rest) != nil, "\(rest)")
    #expect(drawn.allSatisfy { $0.count < columns }, "\(drawn)")
    #expect(columns < 40 || drawn.contains { $0.contains("[=") && $0.contains(">") }, "\(drawn)")
    let percents = drawn.compactMap { $0.firstMatch(of: #/(\d+) %/#).flatMap { Int($0.1) } }
    #expect(columns < 24 || percents.count > 3)
    #expect(percents == percents.sorted() && percents.allSatisfy { 0...100 ~= $0 })
    #expect(columns < 80 || drawn.contains { $0.contains(#/MB of 6\.0 MB +\d\.\d MB\/s +\d+:\d\d left/#) }, "\(drawn)")
  }

  @Test func `a total that nobody knows has no percentage before its end`() throws {
    let server = try WebServer("ssi on; ssi_types *; limit_rate 4m;")
    try server.serve("it", text: "<!--# echo var='x' -->" + String(repeating: "x", count: 8_000_000))
    let (drawn, rest) = try frames(server.show("\(Self.url)it", columns: 80))
    #expect(drawn.contains { $0.contains(#/\d.\d MB +\d.\d MB\/s/#) }, "\(drawn)")
    // The total is known when the last byte is here. A line may still be drawn while the file gets its name.
    #expect(!drawn.contains { ($0.contains("%") || $0.contains("[")) && !$0.contains("100 %") }, "\(drawn)")
    #expect(rest.hasPrefix("it: 8.0 MB in"))
  }

  @Test func `a terminal that becomes narrower has shorter lines from then on`() throws {
    let server = try slowServer("2m")
    let resize =
      "(until [ -n \"$(find it.netwatch-part -size +3000k)\" ]; do sleep 0.05; done 2>/dev/null; stty cols 50 <&1) &"
    // On a busy machine the download may end before the terminal has become narrower. If so, it is repeated.
    func lengths() throws -> [Int] {
      try? server.home.remove("it")
      return try frames(server.show("\(Self.url)it", columns: 120, before: resize)).drawn.map(\.count)
    }
    try eventually(lengths()) { $0.contains { $0 > 100 } && $0.dropLast().last.map { $0 < 50 } == true }
  }

  @Test func `an interruption leaves the line clean too`() throws {
    let server = try slowServer("300k")
    let interrupt = "(while [ ! -s it.netwatch-part ]; do sleep 0.05; done; sleep 0.3; kill -INT $$) &"
    var (drawn, rest) = try frames(server.show("\(Self.url)it", columns: 80, before: interrupt))
    #expect(drawn.removeLast() == "")
    #expect(drawn.contains { $0.contains("%") })
    #expect(rest.hasPrefix("netwatch: interrupted; "), "\(rest)")
  }

  @Test func `no line is drawn where none can be, or none is wanted`() throws {
    let server = try slowServer()
    #expect(
      try #/it: 6\.0 MB in \d+:\d\d\r/#.wholeMatch(in: server.show("\(Self.url)it", columns: 80, terminal: "dumb"))
        != nil)
    #expect(try server.show("\(Self.url)it -q -o other", columns: 80) == "")
    // If there is no terminal, get draws nothing, and a failure is one plain line.
    let failed = try server.get("\(Self.url)missing")
    #expect(failed.error.unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }

  @Test func `a server's words and names cannot steer the terminal`() throws {
    let server = try WebServer("location = /it { return 404; } location = /far { return 302 \"ftp://\u{1b}[31mx/\"; }")
    let far = try server.get("\(Self.url)far")
    #expect(far.ending == .exited(1))
    #expect(far.error == "netwatch: 127.0.0.1 redirects to a URL that is neither http nor https")
    let odd = try server.get("\(Self.url)it", "-o", "a\u{1b}[31m/b")
    #expect(odd.error == "netwatch: there is no folder for a?[31m/b")
  }

  // MARK: The indicator

  @Test func `everybody's indicator is lit while it runs, and goes out with it`() throws {
    let service = try RunningService()
    let server = try WebServer("limit_rate 1m;")
    try server.serve("it", bytes: 5_000_000)
    let watcher = try service.client()
    #expect(try watcher.next().inFlight == 0)
    let child = try server.begin("\(Self.url)it", environment: service.environment)
    var line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.inFlight ?? -1)" == "request_began 1")
    line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.isVisible ?? false)" == "activation_delay true")
    #expect(try child.wait() == .exited(0))
    line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.inFlight ?? -1)" == "request_ended 0")
    line = try watcher.next()
    #expect("\(line.reason ?? "") \(line.isVisible ?? true)" == "completion_delay false")

    let killed = try server.begin("\(Self.url)it", "-o", "other", environment: service.environment)
    while try watcher.next().isVisible != true {}
    killed.signal(SIGKILL)
    while try watcher.next().isVisible != false {}
    #expect(try service.inFlight() == 0)
  }

  // MARK: The program netwatch-http

  private func maps(of process: ChildProcess) throws -> String {
    try ChildProcess.run(["cat", "/proc/\(process.pid)/maps"]).output.joined()
  }

  @Test func `libcurl is in the program that gets, and not in the one that watches`() throws {
    let server = try WebServer(WebServer.holding)
    try server.serve("it", bytes: 6_000_000)
    let child = try server.begin("\(Self.url)it", "--retry", "9")
    try server.wait(for: "it.netwatch-part", bytes: 1)
    let maps = try maps(of: child)
    #expect(maps.contains("libcurl") && maps.contains("/netwatch-http"))
    let follow = try server.network.follow()
    _ = try follow.next()
    #expect(try !self.maps(of: follow.process).contains("libcurl"))
    try server.restart()
    #expect(try child.wait() == .exited(0))
  }

  @Test func `without that program, or without libcurl, a sentence says so`() throws {
    let folder = try TemporaryFolder()
    let netwatch = try folder.install(Programs.netwatch)
    let alone = try ChildProcess.run([netwatch, "get", "http://127.0.0.1/it"])
    #expect(alone.ending == .exited(2))
    #expect(alone.error.hasPrefix("netwatch: get needs netwatch-http, which is not here; "), "\(alone.error)")
    // The changed helper looks as if it were linked to a library that is not installed.
    let helper = try folder.install(Programs.netwatchHTTP)
    #expect(try ChildProcess.run(["sed", "-i", "s/libcurl[.]so[.]4/libcurl.so.0/g", helper]).ending == .exited(0))
    let broken = try ChildProcess.run([netwatch, "get", "http://127.0.0.1/it"])
    #expect(broken.ending == .exited(2))
    #expect(
      broken.error.hasPrefix("netwatch: netwatch-http cannot be started without libcurl.so.0; "), "\(broken.error)")
    // netwatch itself still answers what netwatch-http has nothing to do with.
    #expect(try ChildProcess.run([netwatch, "--json", "get", "http://127.0.0.1/it"]).ending == .exited(64))
    #expect(try ChildProcess.run([netwatch, "--help"]).ending == .exited(0))
    #expect(try ChildProcess.run([netwatch, "help", "get"]).ending == .exited(0))
  }

  @Test func `that program speaks as netwatch, of which it is a part`() throws {
    let help = try ChildProcess.run([Programs.netwatch, "get", "--help"])
    #expect(help.ending == .exited(0))
    #expect(help.output.contains { $0.hasPrefix("USAGE: netwatch get <url> ... [--output <file>]") }, "\(help.output)")
    let wrong = try ChildProcess.run([Programs.netwatch, "get", "--forse", "http://127.0.0.1/it"])
    #expect(wrong.ending == .exited(64))
    #expect(wrong.error.hasPrefix("Error: Unknown option '--forse'"), "\(wrong.error)")
    #expect(!wrong.error.contains("netwatch-http"))
  }

  @Test func `where packages put it, it is found`() throws {
    let folder = try TemporaryFolder()
    let server = try WebServer()
    try server.serve("it", text: "it\n")
    try server.network.run(
      "mkdir -p \(folder.file("bin")) \(folder.file("lib/netwatch"))", "cp \(Programs.netwatch) \(folder.file("bin"))",
      "cp \(Programs.netwatchHTTP) \(folder.file("lib/netwatch"))")
    let result = try ChildProcess.run(
      server.network.command([folder.file("bin/netwatch"), "get", "\(Self.url)it", "-o", "-"]))
    #expect(result.output == ["it"], "\(result.error)")
  }
}
