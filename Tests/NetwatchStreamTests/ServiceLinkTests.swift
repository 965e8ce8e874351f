import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

/// When a client connects to a service. The clock stands still unless a test moves it.
@Suite struct ServiceLinkTests {
  private final class Bench {
    let clock = ManualClock()
    let loop: EventLoop
    let folder: TemporaryFolder
    let address: ServiceAddress
    private(set) var records = 0
    private(set) var losses = 0
    private(set) lazy var link = ServiceLink(
      to: [address], on: loop, record: { [unowned self] _ in records += 1 }, lost: { [unowned self] in losses += 1 })

    init() throws {
      loop = try EventLoop(by: clock)
      folder = try TemporaryFolder()
      address = ServiceAddress(path: folder.file("s"))
    }

    /// The time until the next attempt to connect; nil if no attempt is due.
    var pause: Duration? { loop.nextDeadline.map { $0 - loop.now } }

    /// Lets the time until the next attempt pass, and makes the attempt.
    func attempt() throws {
      clock.advance(by: try #require(pause))
      try loop.poll()
    }

    /// Accepts the client as a service does.
    func accept(by socket: ListeningSocket) -> FileDescriptor {
      FileDescriptor(owning: Glibc.accept(socket.descriptor.rawValue, nil, nil))
    }

    /// Greets the client, and waits until the client has received the greeting.
    func greet(on client: borrowing FileDescriptor) throws {
      var writer = JSONLineWriter()
      writer.write(JSONLineTests.record(JSONLineTests.path(), .initial))
      let heard = records
      try writer.withLine { line throws(SystemError) in try FileDescriptor.writeAll(line, to: client.rawValue) }
      try loop.poll(until: records) { $0 == heard + 1 }
    }

    /// Ends the connection, and waits until the client has noticed that.
    func end(_ client: borrowing FileDescriptor, at place: SourceLocation = #_sourceLocation) throws {
      let heard = losses
      // A child of another test may have a copy of the descriptor, so closing the descriptor may not end the
      // connection.
      shutdown(client.rawValue, CInt(SHUT_RDWR))
      try loop.poll(until: losses, at: place) { $0 == heard + 1 }
    }
  }

  @Test func `without a service there are three further attempts, and again after each change of the file`() throws {
    let bench = try Bench()
    bench.link.start()
    for round in 0..<3 {
      for milliseconds in [20, 80, 400] {
        #expect(bench.pause == .milliseconds(milliseconds), "round \(round)")
        try bench.attempt()
      }
      #expect(bench.pause == nil)
      // The new file is not a socket on which a service listens.
      try bench.folder.write("", to: "new")
      try bench.folder.rename("new", to: "s")
      try bench.loop.poll(until: bench.pause) { $0 == .milliseconds(20) }
    }
    try bench.folder.remove("s")
    let socket = try ListeningSocket(at: bench.address)
    try bench.loop.poll(until: bench.link.isConnected) { $0 }
    #expect(bench.pause == nil && bench.losses == 0)
    withExtendedLifetime(socket) {}
  }

  @Test func `a service that ends each connection is tried again after growing pauses`() throws {
    let bench = try Bench()
    let socket = try ListeningSocket(at: bench.address)
    bench.link.start()
    var longest = Backoff.first
    for round in 0..<12 {
      #expect(bench.link.isConnected)
      let client = bench.accept(by: socket)
      if round.isMultiple(of: 2) { try bench.greet(on: client) }
      try bench.end(client)
      #expect(!bench.link.isConnected)
      let pause = try #require(bench.pause)
      #expect(pause >= longest / 2 && pause <= longest, "round \(round)")
      longest = min(longest * 2, Backoff.longest)
      try bench.attempt()
    }
  }

  @Test(arguments: [(9_999, true, false), (10_000, true, true), (100_000, false, false)])
  func `only a connection that was greeted and has lasted is followed by another one at once`(
    milliseconds: Int, isGreeted: Bool, isAtOnce: Bool
  ) throws {
    let bench = try Bench()
    let socket = try ListeningSocket(at: bench.address)
    bench.link.start()
    let client = bench.accept(by: socket)
    if isGreeted { try bench.greet(on: client) }
    bench.clock.advance(by: .milliseconds(milliseconds))
    try bench.end(client)
    #expect(bench.link.isConnected == isAtOnce)
    #expect((bench.pause == nil) == isAtOnce)
  }
}
