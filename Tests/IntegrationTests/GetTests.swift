import Foundation
import Glibc
import Testing

/// Tests of `netwatch get` as a person or a script uses it.
@Suite struct GetTests {
  private static let url = "http://127.0.0.1/"

  // MARK: A file

  @Test func `a file comes as it is, under the name that its URL has`() throws {
    let server = try WebServer()
    try server.serve("some file.bin", bytes: 3_000_000)
    let result = try server.get("\(Self.url)some%20file.bin?version=2#part")
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(result.output == [] && result.error == "")
    #expect(server.isSame("some file.bin", as: "some file.bin"))
    #expect(try server.home.names == ["some file.bin"])
    #expect(server.answers == ["GET /some%20file.bin?version=2 200 netwatch -"])
  }

  @Test(arguments: ["bücher.localhost", "b%C3%BCcher.localhost", "xn--bcher-kva.localhost"])
  func `a host's name may be in any letters`(host: String) throws {
    let server = try WebServer()
    try server.serve("it", text: "it")
    for destination in ["it", "-"] {
      let result = try server.get("http://\(host)/it", "-o", destination)
      #expect(result.ending == .exited(0), "\(result.error)")
    }
    #expect(server.isSame("it", as: "it"))
  }

  @Test func `an empty file is a file`() throws {
    let server = try WebServer()
    try server.serve("empty", bytes: 0)
    #expect(try server.get("\(Self.url)empty").ending == .exited(0))
    #expect(try server.home.names == ["empty"])
  }

  @Test func `a file that is there stays as it is, unless it may be replaced`() throws {
    let server = try WebServer()
    try server.serve("it", text: "new")
    try "mine".write(toFile: server.home.file("it"), atomically: true, encoding: .utf8)
    let refused = try server.get("\(Self.url)it")
    #expect(refused.ending == .exited(1))
    #expect(refused.error == "netwatch: it is there already; --force replaces it, and --output names another")
    #expect(server.answers == [])
    #expect(try String(contentsOfFile: server.home.file("it"), encoding: .utf8) == "mine")
    #expect(try server.get("\(Self.url)it", "--force").ending == .exited(0))
    #expect(server.isSame("it", as: "it"))
    #expect(try server.home.names == ["it"])
  }

  @Test func `an error page is no file`() throws {
    let server = try WebServer()
    for output in ["it", "-"] {
      let result = try server.get("\(Self.url)missing", "-o", output)
      #expect(result.ending == .exited(1))
      #expect(result.output == [])
      #expect(result.error == "netwatch: the server answers 404 Not Found")
    }
    #expect(try server.home.names == [])
  }

  @Test func `a device is written into, and not replaced`() throws {
    let server = try WebServer()
    try server.serve("it", bytes: 10)
    try server.network.run("mkfifo \(server.home.file("pipe"))")
    let reader = try ChildProcess(["wc", "-c", server.home.file("pipe")])
    #expect(try server.get("\(Self.url)it", "-o", "pipe", "--force").ending == .exited(0))
    #expect(try reader.nextLine()?.hasPrefix("10 ") == true)
    #expect(try server.home.names == ["pipe"])
  }

  @Test func `a header of one's own is sent`() throws {
    let server = try WebServer()
    try server.serve("it", text: "it")
    #expect(try server.get("\(Self.url)it", "-H", "X-Field: a: b", "-H", "User-Agent: me").ending == .exited(0))
    #expect(server.answers == ["GET /it 200 me a: b"])
  }

  @Test(arguments: ["~it", "~root", "~", "100%.bin", "%41", "a b", "網", "-o", "it;x", "./sub/../it"])
  func `a file gets the name that was asked for, whatever that is`(name: String) throws {
    let server = try WebServer()
    try server.serve("it", text: "it")
    try server.network.run("mkdir \(server.home.file("sub"))")
    let result = try server.get("\(Self.url)it", "--output=\(name)")
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(server.isSame(name, as: "it"))
    #expect(try server.home.names.filter { $0 != "sub" } == [name.split(separator: "/").last.map(String.init)])
  }

  @Test func `a name in a URL is no user's home, and a link is followed before the folder above it`() throws {
    let server = try WebServer()
    try server.serve("~root", text: "it")
    try server.network.run("mkdir -p \(server.home.file("sub/deep")); ln -s sub/deep \(server.home.file("link"))")
    #expect(try server.get("\(Self.url)~root").ending == .exited(0))
    #expect(server.isSame("~root", as: "~root"))
    #expect(try server.get("\(Self.url)~root", "-o", "link/../it").ending == .exited(0))
    #expect(server.isSame("sub/it", as: "~root"))
    #expect(try server.home.names.sorted() == ["link", "sub", "~root"])
  }

  @Test func `without a standard error, what is said does not land in what is got`() throws {
    let server = try WebServer()
    try server.network.run("mkfifo \(server.home.file("pipe"))")
    let reader = try ChildProcess(["cat", server.home.file("pipe")])
    let script = "exec \"$0\" get \(Self.url)missing -o pipe 2>&-"
    let result = try ChildProcess.run(server.command(["sh", "-c", script, Programs.netwatch]))
    #expect(result.ending == .exited(1))
    #expect(try reader.nextLine() == nil)
  }

  // MARK: Resumed downloads

  /// Starts a server of a file of 6 MB. It sends a quarter of the file at once and then next to nothing, until the
  /// download resumes and gets the rest.
  private func holdingServer(_ more: String = "") throws -> WebServer {
    let server = try WebServer("\(WebServer.holding) \(more)")
    try server.serve("it", bytes: 6_000_000)
    return server
  }

  @Test(arguments: [SIGKILL, SIGINT, SIGTERM, SIGHUP])
  func `a download that was ended by a signal goes on where it was`(signal: CInt) throws {
    let server = try holdingServer()
    let child = try server.begin("\(Self.url)it")
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    child.signal(signal)
    #expect(try child.wait() == .signalled(signal))
    let said = try child.errorText()
    let words = #/netwatch: interrupted; \d\.\d MB are kept, and the same command goes on from there/#
    #expect(try signal == SIGKILL ? said.isEmpty : words.wholeMatch(in: said) != nil, "\(said)")
    #expect(try server.home.names == ["it.netwatch-part", "it.netwatch-part.json"])

    let result = try server.get("\(Self.url)it")
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(server.isSame("it", as: "it"))
    #expect(try server.home.names == ["it"])
    #expect(server.answers.map { $0.split(separator: " ")[2] } == ["200", "206"])
  }

  @Test func `a file that has changed in between is got anew`() throws {
    let server = try holdingServer()
    let child = try server.begin("\(Self.url)it")
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    child.signal(SIGTERM)
    _ = try child.wait()
    try server.serve("it", bytes: 5_000_000)
    #expect(try server.get("\(Self.url)it").ending == .exited(0))
    #expect(server.isSame("it", as: "it"))
    #expect(server.answers.map { $0.split(separator: " ")[2] } == ["200", "200"])
  }

  @Test func `where the server does not say which file it is, nothing is kept, and that is said`() throws {
    let server = try holdingServer("etag off; add_header Last-Modified '';")
    let child = try server.begin("\(Self.url)it")
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    child.signal(SIGINT)
    #expect(try child.wait() == .signalled(SIGINT))
    #expect(try child.errorText().contains("nothing is kept"))
    #expect(try server.home.names == [])
  }

  @Test func `a server that dies is tried again, and the file goes on`() throws {
    let server = try holdingServer()
    let child = try server.begin("\(Self.url)it", "--retry", "9")
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    try server.kill()
    let said = try #require(try child.nextErrorLine())
    #expect(said.hasPrefix("netwatch: the connection to 127.0.0.1 was lost: "), "\(said)")
    #expect(said.hasSuffix("; trying again in 1 s"), "\(said)")
    try server.start()
    #expect(try child.wait() == .exited(0))
    #expect(server.isSame("it", as: "it"))
    #expect(server.answers.last == "GET /it 206 netwatch -")
  }

  @Test func `a server that is down ends it in a sentence, and so do tries that are used up`() throws {
    let server = try WebServer("location = /busy { return 503; }")
    let busy = try server.get("\(Self.url)busy", "--retry", "1")
    #expect(busy.ending == .exited(1))
    #expect(
      busy.error == """
        netwatch: the server answers 503 Service Temporarily Unavailable; trying again in 1 s
        netwatch: the server answers 503 Service Temporarily Unavailable
        """)
    #expect(server.answers.count == 2)
    try server.kill()
    let down = try server.get("\(Self.url)it")
    #expect(down.ending == .exited(1))
    #expect(down.error == "netwatch: no connection to 127.0.0.1: it is refused, or there is no way there")
    #expect(try server.home.names == [])
  }

  @Test func `what nohup has ignored does not end it`() throws {
    let server = try holdingServer()
    let child = try ChildProcess(
      server.command(["sh", "-c", "trap '' HUP; exec \"$0\" get \(Self.url)it --retry 9", Programs.netwatch]))
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    child.signal(SIGHUP)
    try server.restart()
    #expect(try child.wait() == .exited(0))
    #expect(server.isSame("it", as: "it"))
  }

  @Test func `two downloads never write into one file`() throws {
    let server = try holdingServer()
    let first = try server.begin("\(Self.url)it", "--retry", "9")
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    let second = try server.get("\(Self.url)it")
    #expect(second.ending == .exited(1))
    #expect(second.error == "netwatch: another download writes into it at this moment")
    try server.restart()
    #expect(try first.wait() == .exited(0))
    #expect(server.isSame("it", as: "it"))
  }

  @Test(arguments: [[], ["rename"]])
  func `a file that comes there meanwhile is not replaced, on any file system`(sandbox: [String]) throws {
    // The rate is so low that the download still runs when the test looks. It is complete after eight seconds.
    let server = try WebServer("limit_rate_after 1500k; limit_rate 600k;")
    try server.serve("it", bytes: 6_000_000)
    let program = (sandbox.isEmpty ? [] : [Programs.sandbox] + sandbox) + [Programs.netwatch, "get", "\(Self.url)it"]
    let child = try ChildProcess(server.command(program))
    try server.wait(for: "it.netwatch-part", bytes: 1_000_000)
    child.signal(SIGSTOP)
    try "mine".write(toFile: server.home.file("it"), atomically: true, encoding: .utf8)
    child.signal(SIGCONT)
    #expect(try child.wait() == .exited(1))
    #expect(
      try child.errorText() == """
        netwatch: it is there already; --force replaces it, and --output names another; 6.0 MB are kept, and the same \
        command goes on from there
        """)
    #expect(try String(contentsOfFile: server.home.file("it"), encoding: .utf8) == "mine")
    try FileManager.default.removeItem(atPath: server.home.file("it"))
    #expect(try ChildProcess.run(server.command(program)).ending == .exited(0))
    #expect(server.isSame("it", as: "it"))
    #expect(try server.home.names == ["it"])
  }

  // MARK: No room or no permission

  @Test func `a full disk is said, with what is kept`() throws {
    let server = try holdingServer()
    let script =
      "mount -t tmpfs -o size=1m tmpfs . && cd \"$PWD\" && \(Programs.netwatch) get \(Self.url)it; s=$?; ls; exit $s"
    let result = try ChildProcess.run(server.command(["unshare", "--mount", "sh", "-c", script]))
    #expect(result.ending == .exited(1))
    #expect(result.error.hasPrefix("netwatch: no room is left for it"), "\(result.error)")
    #expect(!result.output.contains("it"))
    let full = try ChildProcess.run(
      server.command(["sh", "-c", "\(Programs.netwatch) get \(Self.url)it -o - >/dev/full"]))
    #expect(full.ending == .exited(1))
    #expect(full.error == "netwatch: no room is left for standard output")
  }

  @Test func `a place where no file can be written is refused before the request`() throws {
    let server = try WebServer()
    try server.serve("it", text: "it")
    for (place, words) in [
      ("/sys/it", "no permission to write /sys/it"), ("nowhere/it", "there is no folder for nowhere/it"),
      (".", ". is a folder; name a file in it with --output"),
      ("a/", "a/ is a folder; name a file in it with --output"),
    ] {
      let result = try server.get("\(Self.url)it", "-o", place)
      #expect(result.error == "netwatch: \(words)")
      #expect(result.ending == .exited(1))
    }
    #expect(server.answers == [])
  }

  // MARK: Standard output

  @Test func `standard output gets the bytes and nothing else`() throws {
    let server = try WebServer()
    try server.serve("it", bytes: 3_000_000)
    let script = "\(Programs.netwatch) get \(Self.url)it -o - | cmp - \(server.folder.file("files/it"))"
    let result = try ChildProcess.run(server.command(["bash", "-o", "pipefail", "-c", script]))
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(result.error == "")
    #expect(try server.home.names == [])
  }

  @Test func `a reader that leaves ends it as it ends cat`() throws {
    let server = try WebServer()
    try server.serve("it", bytes: 3_000_000)
    let script = "\(Programs.netwatch) get \(Self.url)it -o - | head -c 10 | wc -c; echo ${PIPESTATUS[0]}"
    let result = try ChildProcess.run(server.command(["bash", "-c", script]))
    #expect(result.output == ["10", "\(128 + SIGPIPE)"])
    #expect(result.error == "")
  }

  @Test func `a terminal is shown text, and is spared the rest`() throws {
    let server = try WebServer()
    try server.serve("text", text: "hello\n")
    try server.serve("bytes", bytes: 100_000)
    #expect(try server.show("\(Self.url)text -o -", columns: 80) == "hello\r")
    let refused = try server.show("\(Self.url)bytes -o -", columns: 80)
    #expect(refused == "netwatch: this is no text, and would upset the terminal; name a file with --output\r")
  }
}
