import Foundation
import Glibc
import Testing

/// Tests of the HTTP requests of an app that reports them, as a follower of the service sees them.
@Suite struct HTTPActivityTests {
  private static func lines(_ follow: Follow, until isLast: (Line) -> Bool) throws -> [Line] {
    var lines: [Line] = []
    repeat { lines.append(try follow.next()) } while lines.last.map(isLast) == false
    return lines
  }

  @Test func `the requests of an app light everybody's indicator`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let service = try RunningService(in: networks.near)
    let follow = try service.follow()
    #expect(try follow.next().inFlight == 0)
    let app = try ChildProcess(
      networks.near.command([Programs.httpProbe]), environment: service.environment)

    let begun = Line.monotonicNow
    app.write("http://10.0.0.2/wait/go\n")
    _ = try server.next("asked")
    let shown = try Self.lines(follow) { $0.isVisible == true }
    #expect((shown.last?.monotonicNanoseconds ?? 0) - begun >= 1_000_000_000)
    server.answer()
    let answered = try server.next("answered")
    let hidden = try Self.lines(follow) { $0.isVisible == false }
    #expect((hidden.last?.monotonicNanoseconds ?? 0) - answered >= 170_000_000)
    #expect((shown + hidden).map { $0.inFlight ?? -1 } == [1, 1, 0, 0])
    #expect(try app.nextLine() == "got 200")

    // The requests of an app end with the app.
    app.write("http://10.0.0.2/wait/go\n")
    _ = try Self.lines(follow) { $0.isVisible == true }
    app.signal(SIGKILL)
    #expect(try Self.lines(follow) { $0.isVisible == false }.map { $0.inFlight ?? -1 } == [0, 0])
  }
}
