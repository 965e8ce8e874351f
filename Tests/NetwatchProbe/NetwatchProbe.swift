import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// The parts of tests that run in a network namespace. The first argument names the part: `overrun BYTES`, `tunnel
/// NAME`, `library`, `rules`, `verdicts`, `targets TARGET…`, `silent-server`, `reporter`, `events`, `watchers`,
/// `dropped COUNT`, `delays`, `traffic`, `slow-server`, `answer-server`, `socks-server`, `clients HOST COUNT PATH`,
/// `sink`, `senders HOST COUNT RATE`, `ping ADDRESS`, `datagrams ADDRESS LINK COUNT SIZE`, `advertise LINK SECONDS
/// [OPTION…]`, `announcements`, `reach`, `messages`.
@main
enum NetwatchProbe {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "overrun": try Overrun.run(receiveBuffer: Int(arguments[1]) ?? 4096)
    case "tunnel": try Tunnel.hold(arguments[1])
    case "cable-speed": try CableSpeed.set(arguments[1], UInt16(arguments[2]) ?? 0)
    case "watchers": try Watchers.run()
    case "dropped": try await Dropped.run(Int(arguments[1]) ?? 1)
    case "delays": try Delays.run()
    case "traffic": try await Traffic.run()
    case "library": try await Library.run()
    case "rules": try Rules.follow()
    case "verdicts": try Rules.answer()
    case "targets": try await Targets.run(Array(arguments.dropFirst()))
    case "silent-server": try SilentServer.run()
    case "slow-server": try SlowServer.run()
    case "answer-server": try AnswerServer.run()
    case "socks-server": try SocksServer.run()
    case "clients": try SlowClients.run(arguments[1], Int(arguments[2]) ?? 1, arguments[3])
    case "sink": try Sink.run()
    case "senders": try Senders.run(arguments[1], Int(arguments[2]) ?? 1, Int(arguments[3]) ?? 1)
    case "ping": try Ping.run(arguments[1])
    case "datagrams":
      try Datagrams.run(
        arguments[1], over: arguments[2], count: Int(arguments[3]) ?? 1, size: Int(arguments[4]) ?? 1)
    case "advertise":
      try RouterAdvertisement.send(
        from: arguments[1], lifetime: UInt16(arguments[2]) ?? 0, Array(arguments.dropFirst(3)))
    case "announcements": try await Announcements.run()
    case "reach": Reach.run()
    case "messages": try Messages.run()
    case "reporter": try Reporter.run()
    case "events": try await Reporter.read()
    default: throw ProbeFailure("unknown probe")
    }
  }
}

struct ProbeFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

func say(_ text: String, to descriptor: CInt = STDOUT_FILENO) {
  var line = text + "\n"
  line.withUTF8 { bytes in _ = unsafe write(descriptor, bytes.baseAddress, bytes.count) }
}
