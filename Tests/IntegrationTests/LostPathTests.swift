import Foundation
import Glibc
import Testing

/// HTTP when uplinks go and come.
@Suite struct LostPathTests {
  private static let url = "http://10.9.0.9/"

  @Test func `after a change of the uplink the next request goes out at once`() throws {
    let networks = try TwoUplinks()
    let app = try networks.app(grace: 0)
    #expect(try app.request("GET \(Self.url)").outcome == "200 10.0.0.1")
    try networks.near.run("ip link set v0 down")
    let next = try app.request("GET \(Self.url)")
    #expect(next.outcome == "200 10.1.0.1")
    #expect(next.milliseconds < 2_000)
  }

  @Test func `a cable that is pulled in the middle of get ends it after the grace`() throws {
    let networks = try TwoUplinks()
    try networks.write("file", bytes: 5_000_000)
    let home = try TemporaryFolder()
    try networks.near.run("ip route del default dev w0")
    let get = try ChildProcess(
      networks.near.command(
        ["env", "-C", home.path, Programs.netwatch, "get", "\(Self.url)slow/file", "--path-loss-grace", "1"]))
    get.closeInput()
    let deadline = Deadline(20)
    while !FileManager.default.fileExists(atPath: home.file("file.netwatch-part.json")), !deadline.isOver {
      usleep(2_000)  // a file that appears tells nobody
    }
    let start = Line.monotonicNow
    try networks.far.run("ip link set v1 down")
    #expect(try get.wait(within: 30) == .exited(1))
    let time = Line.monotonicNow - start
    #expect(time > 900_000_000 && time < 10_000_000_000, "\(time)")
    let said = try get.errorText()
    #expect(said.hasPrefix("netwatch: the path to 10.9.0.9 was lost"), "\(said)")
  }
}
