import CLibNetlink
import Glibc
import NetwatchEventLoop
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// A question to the kernel, and what may come instead of its answer.
@Suite struct NetlinkConversationTests {
  /// Asks one question, which is the first one on a socket that plays these lines of a trace.
  private func ask(
    _ lines: [String], isListing: Bool
  ) throws -> (messages: [UInt16], reply: NetlinkRequestSocket.Reply, fault: TraceError?) {
    let file = try TraceFile([TraceFormat.header] + lines)
    let player = TracePlayer(try TraceReader(opening: file.path))
    let conversation = try NetlinkRequestSocket(
      .reply, of: KernelInterface.replayed(player).transport, protocol: NETLINK_ROUTE, log: nil)
    var request: NetlinkRequest = isListing ? try .links() : try .link()
    var messages: [UInt16] = []
    let reply = try conversation.ask(&request) { frame, _ in messages.append(frame.type) }
    return (messages, reply, player.fault)
  }

  private let link = SmallTrace.card(isRunning: true)

  @Test func `an answer to an earlier question is left out`() throws {
    let earlier = [SmallTrace.refusal(0, EPERM), SmallTrace.reply(0, link), SmallTrace.reply(0, SmallTrace.done)]
    let (messages, reply, fault) = try ask(earlier + [SmallTrace.reply(1, SmallTrace.address)], isListing: false)
    #expect(messages == [UInt16(RTM_NEWADDR)] && fault == nil)
    #expect(reply.isWhole && reply.isOver && reply.error == 0)
  }

  @Test func `a list goes on to its end, a single answer ends at once`() throws {
    let lines = [SmallTrace.reply(1, link), SmallTrace.reply(1, link), SmallTrace.reply(1, SmallTrace.done)]
    #expect(try ask(lines, isListing: true).messages.count == 2)
    #expect(try ask(lines, isListing: false).messages.count == 1)
  }

  @Test func `a list with lost or changed parts is not whole`() throws {
    let end = SmallTrace.reply(1, SmallTrace.done)
    #expect(try !ask(["reply overrun", end], isListing: true).reply.isWhole)
    var interrupted = MessageBuilder(type: Int(NLMSG_DONE), flags: Int(NLM_F_DUMP_INTR))
    interrupted.append(MessageBuilder.raw(Int32(0)))
    #expect(try !ask([SmallTrace.reply(1, interrupted.bytes)], isListing: true).reply.isWhole)
    #expect(try ask([end], isListing: true).reply.isWhole)
  }

  @Test func `a refusal is the kernel's word, and silence is an error`() throws {
    #expect(try ask([SmallTrace.refusal(1, ENOBUFS)], isListing: true).reply.isRefusedForNow)
    #expect(try ask([SmallTrace.refusal(1, EPERM)], isListing: true).reply.error == EPERM)
    #expect(throws: SystemError.netlink("recv", ETIMEDOUT)) { try ask(["reply end"], isListing: true) }
  }
}
