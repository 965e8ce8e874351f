import Foundation
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

/// Lookups by systemd-resolved: what it says, recorded from version 252, and servers in its place that misbehave.
@Suite struct ResolvedLookupTests {
  private static func answer(_ text: String) -> SystemLookup.Answer { ResolvedLookup.answer(Array(text.utf8) + [0]) }

  @Test func `addresses are read, each once, and none that needs a link`() {
    #expect(
      Self.answer(
        #"{"parameters":{"addresses":[{"ifindex":3,"family":2,"address":[10,0,0,9]},{"family":10,"address":[253,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]},"#
          + #"{"ifindex":3,"family":2,"address":[10,0,0,9]},{"ifindex":3,"family":10,"address":[254,128,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}],"name":"a.example","flags":8388609}}"#
      ) == .addresses([.ip("10.0.0.9"), .ip("fd00::1")]))
    let many = (0..<100).map { #"{"family":2,"address":[10,0,0,\#($0)]}"# }.joined(separator: ",")
    guard case .addresses(let some) = Self.answer(#"{"parameters":{"addresses":[\#(many)]}}"#) else {
      Issue.record("no addresses")
      return
    }
    #expect(some.count == 16)
  }

  @Test(arguments: [
    (#"{"error":"io.systemd.Resolve.DNSError","parameters":{"rcode":3}}"#, SystemLookup.Answer.none),
    (#"{"error":"io.systemd.Resolve.NoSuchResourceRecord","parameters":{}}"#, .none),
    (#"{"parameters":{"addresses":[]}}"#, .none),
    (#"{"error":"io.systemd.Resolve.DNSError","parameters":{"rcode":5}}"#, .silence),
    (#"{"error":"io.systemd.Resolve.NoNameServers","parameters":{}}"#, .silence),
    (#"{"error":"io.systemd.Resolve.QueryTimedOut","parameters":{}}"#, .silence),
    (#"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"x"}}"#, .unavailable),
    (#"{"parameters":{}}"#, .unavailable), ("{}", .unavailable), ("", .unavailable), ("[", .unavailable),
    (#"{"parameters":{"addresses":[{"address":[1,2,3]},{"address":[300,0,0,1]},{"address":"x"}]}}"#, .none),
  ])
  func `an error says whether the name is unknown, nobody has answered, or the method is missing`(
    _ text: String, _ answer: SystemLookup.Answer
  ) {
    #expect(Self.answer(text) == answer)
  }

  @Test func `random answers do no harm`() {
    var random = SplitMix(seed: 1_953)
    let pieces = [
      "{", "}", "[", "]", ":", ",", "\"", "parameters", "addresses", "address", "error", "1", "-1", "10", "null",
      "\u{0}",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0...20, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
      _ = Self.answer(text.joined())
    }
  }

  // MARK: Lookups

  /// Looks a name up that only the system can know.
  private func lookUp(_ configuration: ResolverConfiguration) throws -> Resolution.Outcome {
    let loop = try EventLoop()
    var outcome: Resolution.Outcome?
    let lookup = HostLookup(of: try HostName("printer"), on: loop, configuration) {
      outcome = $0
      loop.stop()
    }
    try loop.runPatiently()
    withExtendedLifetime(lookup) {}
    return try #require(outcome)
  }

  /// A server at a Unix socket that gives each connection these bytes, in the syntax of Python, and closes it.
  private static func serve(_ bytes: String, at path: String, _ body: () throws -> Void) throws {
    let script = """
      import os, socket, sys
      server = socket.socket(socket.AF_UNIX)
      server.bind(sys.argv[1])
      server.listen(9)
      print("ready", flush=True)
      while True:
          peer = server.accept()[0]
          asked = peer.recv(999)
          assert asked.endswith(b'"printer","flags":0}}\\0'), asked
          peer.sendall(\(bytes))
          peer.close()
      """
    let output = try NetwatchEventLoop.Pipe()
    let server = OwnChild(
      try ChildProcess.spawn(
        "/usr/bin/env", ["python3", "-c", script, path], descriptors: [(output.write, STDOUT_FILENO)]))
    var byte: UInt8 = 0
    #expect(unsafe read(output.read, &byte, 1) == 1)
    try body()
    withExtendedLifetime(server) {}
  }

  @Test func `resolved is asked only where programs ask it, and a program where it cannot be asked`() throws {
    let folder = try TemporaryFolder()
    var configuration = ResolverConfiguration()
    (configuration.nsswitch, configuration.resolved) = (folder.file("nsswitch.conf"), folder.file("socket"))
    configuration.getent = nil
    let good = #"b'{"parameters":{"addresses":[{"family":2,"address":[10,0,0,9]}]}}\0'"#
    try Self.serve(good, at: folder.file("socket")) {
      #expect((try? lookUp(configuration).get()) == nil)
      try folder.write("passwd: files\nhosts: files resolve [!UNAVAIL=return] dns\n", to: "nsswitch.conf")
      #expect(try lookUp(configuration).get().addresses == [.ip("10.0.0.9")])
      let times = try (0..<25).map { _ in
        let start = ContinuousClock.now
        _ = try lookUp(configuration)
        return ContinuousClock.now - start
      }
      print("a lookup by resolved's socket takes \(times.sorted()[12])")
      #expect(times.sorted()[12] < .milliseconds(50))
      try folder.write("hosts: files dns # resolve\n", to: "nsswitch.conf")
      #expect((try? lookUp(configuration).get()) == nil)
    }
    // Nobody listens at the socket any more, and there is no socket.
    try folder.write("hosts: resolve\n", to: "nsswitch.conf")
    #expect((try? lookUp(configuration).get()) == nil)
    try folder.remove("socket")
    #expect((try? lookUp(configuration).get()) == nil)
  }

  @Test(arguments: ["b''", #"b'\0'"#, "b'{'", #"b'{\"parameters\":\0'"#, "b' ' * 200000"])
  func `a server that misbehaves is no source`(_ bytes: String) throws {
    let folder = try TemporaryFolder()
    var configuration = ResolverConfiguration()
    (configuration.nsswitch, configuration.resolved) = (folder.file("nsswitch.conf"), folder.file("socket"))
    configuration.getent = nil
    try folder.write("hosts: resolve\n", to: "nsswitch.conf")
    try Self.serve(bytes, at: folder.file("socket")) { #expect((try? lookUp(configuration).get()) == nil) }
  }
}
