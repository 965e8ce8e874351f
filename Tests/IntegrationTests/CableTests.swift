import Foundation
import NetwatchTestSupport
import Testing

/// What is said of cables where there is none. GuestCardTests have a card.
@Suite struct CableTests {
  @Test func `a virtual link has no cable, though its driver has a speed`() throws {
    let networks = try TwoNetworks()
    let plain = try networks.near.follow("--no-service")
    let follow = try networks.near.follow("--no-service", "--cable")
    func members(_ line: Line) -> [String: Any] { line.object["reachability"] as? [String: Any] ?? [:] }
    #expect(try members(follow.next())["link"] is NSNull)
    #expect(try members(plain.next())["link"] == nil)
    try networks.far.run("ip link set v1 down")
    #expect(try members(follow.next())["link"] is NSNull)
    let words = try ChildProcess.run(networks.near.command([Programs.netwatch, "explain"])).output
    #expect(!words.contains { $0.contains("Mb/s") }, "\(words)")
  }
}
