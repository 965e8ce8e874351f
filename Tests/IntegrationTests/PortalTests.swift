import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `netwatch open`: what it opens, and how.
@Suite struct PortalTests {
  /// Two networks with a server that answers probes, and an xdg-open that records its arguments.
  private final class Desktop {
    let networks: TwoNetworks
    let server: AnswerServer
    private let folder: TemporaryFolder

    init() throws {
      networks = try TwoNetworks()
      server = try AnswerServer(in: networks.far)
      folder = try TemporaryFolder()
      try folder.makeFolder("bin")
      let script = "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > '\(folder.file("opened"))'\n"
      // Another process writes the file. The kernel does not run a file that is open for writing, and a child that
      // another test starts meanwhile would inherit a descriptor of this process.
      let writer = try ChildProcess.run([
        "sh", "-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", script, folder.file("bin/xdg-open"),
      ])
      guard writer.ending == .exited(0) else { throw TestFailure(writer.error) }
    }

    func open(path: String? = nil) throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
      try? folder.remove("opened")
      return try ChildProcess.run(
        networks.near.command([Programs.netwatch, "open", "--probe", AnswerServer.url, "--probe-timeout", "5"]),
        environment: ["PATH=\(path ?? folder.file("bin") + ":/usr/bin:/bin")"])
    }

    func follow(_ options: String...) throws -> ChildProcess {
      try ChildProcess(
        networks.near.command(
          [Programs.netwatch, "-f", "--probe", AnswerServer.url, "--probe-interval", "0.1"] + options),
        environment: ["PATH=\(folder.file("bin")):/usr/bin:/bin"])
    }

    /// The number of arguments with which xdg-open was called, and then these arguments.
    var opened: [String] { folder.text(of: "opened").split(separator: "\n").map(String.init) }
  }

  @Test func `the login page is opened, as one argument, and a strange host is shown first`() throws {
    let desktop = try Desktop()
    for (place, isShown) in [
      ("/login", false), ("http://10.0.0.2:8080/a?b=$(id)&c='d'", false), ("http://login.example/;reboot", true),
      ("https://LOGIN.example/%24HOME", true),
    ] {
      try desktop.server.answer("to \(place)")
      let result = try desktop.open()
      #expect(result.ending == .exited(0), "\(result.error)")
      // Escapes stay as they are, and characters that have a meaning for a shell are escaped.
      let url = (place.hasPrefix("/") ? "http://10.0.0.2\(place)" : place)
        .replacing("$(id)", with: "%24%28id%29").replacing("'d'", with: "%27d%27")
      #expect(desktop.opened.first == "1")
      #expect(desktop.opened.dropFirst().first?.lowercased() == url.lowercased())
      #expect(result.output == (isShown ? ["The login page is at \(desktop.opened[1])"] : []))
    }
    // If a page comes in place of the answer, the URL of the probe is opened.
    try desktop.server.answer("511 log in")
    #expect(try desktop.open().ending == .exited(0))
    #expect(desktop.opened == ["1", AnswerServer.url])
  }

  @Test func `wait prints the address of the login page`() throws {
    let desktop = try Desktop()
    try desktop.server.answer("to /login")
    let result = try ChildProcess.run(
      desktop.networks.near.command([
        Programs.netwatch, "wait", "-t", "2", "--probe", AnswerServer.url, "--template",
        "{internet} {portal_url}",
      ]))
    #expect(result.ending == .exited(1))
    #expect(result.output == ["portal http://10.0.0.2/login"])
  }

  @Test(arguments: [
    ("i3bar", #",{"name":"netwatch","button":1}"#, #",{"name":"netwatch","button":3}"#), ("i3blocks", "1", "2"),
  ])
  func `a click on a bar opens it, and does nothing else`(format: String, click: String, other: String) throws {
    let desktop = try Desktop()
    let bar = try desktop.follow("--format", format, "--template", "{internet}")
    func next(_ word: String) throws {
      while let line = try bar.nextLine() { if line.contains("\"full_text\":\"\(word)") { return } }
      throw TestFailure("the bar has ended: \(try bar.errorText())")
    }
    try next("full")
    bar.write("[\n\(click)\n")
    try desktop.server.answer("to http://login.example/;id")
    try next("portal")
    bar.write("\(other)\n\(click)\n")
    #expect(try bar.nextErrorLine()?.hasSuffix("opening the login page at http://login.example/;id") == true)
    try eventually(desktop.opened) { $0.count >= 2 }
    #expect(desktop.opened == ["1", "http://login.example/;id"])
    try desktop.server.answer("204")
    try next("full")
    #expect(!bar.hasErrorLine)
  }

  @Test func `nothing else is opened`() throws {
    let desktop = try Desktop()
    for (answer, words) in [
      ("204", "there is no login page: the internet answers"), ("close", "there is no login page: nothing answers"),
      ("404 no", "no login page is known: the answer proves nothing"),
      ("to file:///etc/passwd", "a login page answers, but its address cannot be opened, or its certificate is wrong"),
      ("to javascript:alert(1)", "a login page answers, but its address cannot be opened, or its certificate is wrong"),
      (
        "to http://10.0.0.2@evil.example/",
        "a login page answers, but its address cannot be opened, or its certificate is wrong"
      ),
    ] {
      try desktop.server.answer(answer)
      let result = try desktop.open()
      #expect(result.ending == .exited(1))
      #expect(result.output == [words])
      #expect(desktop.opened.isEmpty)
    }
  }

  @Test func `without xdg-open a sentence says what to do`() throws {
    let desktop = try Desktop()
    try desktop.server.answer("to /login")
    let result = try desktop.open(path: "/nowhere")
    #expect(result.ending == .exited(2))
    #expect(
      result.error.contains("xdg-open is not installed; install xdg-utils, or open http://10.0.0.2/login yourself."))
  }
}
