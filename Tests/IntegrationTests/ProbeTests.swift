import Foundation
import Glibc
import Testing

/// `--probe`: whether the internet is there, asked of a server of the user's.
@Suite struct ProbeTests {
  private static let url = "http://10.0.0.2/probe"

  private func follow(_ networks: TwoNetworks, _ options: String...) throws -> Follow {
    try Follow(
      ChildProcess(networks.near.command([Programs.netwatch, "-f", "--json", "--probe", Self.url] + options)))
  }

  @Test func `the first line is there at once, and the answer is a line of its own`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let follow = try follow(networks)
    let first = try follow.next()
    #expect(first.summary == "wifi initial v0")
    #expect(first.internet == "unknown")
    let second = try follow.next()
    #expect(second.summary == "wifi internet_changed v0")
    #expect(second.event == "reachability")
    #expect(second.internet == "full")
    #expect(second.sequence == 2)
    let head = try server.nextRequest().split(separator: "|").map(String.init)
    #expect(head.first == "GET /probe HTTP/1.1")
    #expect(head.contains("Cache-Control: no-cache"))
    #expect(head.contains("Connection: close"))
    #expect(head.contains { $0.hasPrefix("User-Agent: netwatch/") })
    #expect(!head.contains { $0.hasPrefix("Cookie") })
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let answer: String
    var expectation: String?
    let internet: String
    var testDescription: String { "\(answer) where \(expectation ?? "nothing") is expected: \(internet)" }
  }

  @Test(arguments: [
    Case(answer: "204", internet: "full"), Case(answer: "200 ", internet: "full"),
    Case(answer: "302", internet: "portal"), Case(answer: "307", internet: "portal"),
    Case(answer: "200 <html>Please log in</html>", internet: "portal"), Case(answer: "511", internet: "portal"),
    Case(answer: "404 not here", internet: "unknown"), Case(answer: "503", internet: "unknown"),
    Case(answer: "close", internet: "none"), Case(answer: "raw hello", internet: "unknown"),
    Case(answer: "200 success and more", expectation: "success", internet: "full"),
    Case(answer: "200 succ", expectation: "success", internet: "portal"),
    Case(answer: "200 <html>success", expectation: "success", internet: "portal"),
    Case(answer: "204", expectation: "success", internet: "unknown"),
  ])
  func `what an answer says of the internet`(_ given: Case) throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: given.answer)
    let options = given.expectation.map { ["--probe-expect", $0] } ?? []
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", Self.url] + options))
    #expect(status.ending == .exited(0))
    #expect(status.error == "")
    let line = try Line(#require(status.output.first))
    #expect(line.internet == given.internet)
    #expect(line.summary == "wifi initial v0")
    #expect(status.output.count == 1)
    withExtendedLifetime(server) {}
  }
}
