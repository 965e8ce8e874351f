import NetlinkWire
import Netwatch
import NetwatchEventLoop

extension KernelInterface {
  /// Returns an input that reads from the kernel and records a trace of it.
  package static func recorded(_ writer: TraceWriter) -> KernelInterface {
    let kernel = kernel
    return KernelInterface(
      transport: .recorded(.recording(to: writer)),
      pause: kernel.pause,
      follow: kernel.follow,
      namespaces: {
        let namespaces = kernel.namespaces()
        if !namespaces.isEmpty { writer.write(namespaces) }
        return namespaces
      },
      traits: { name, index, hardwareAddress in
        let traits = kernel.traits(name, index, hardwareAddress)
        writer.write(traits, ofLink: index)
        return traits
      },
      lease: { link, index, address in
        let isMetered = kernel.lease(link, index, address)
        if isMetered { writer.writeMeteredLease(of: address, ofLink: index) }
        return isMetered
      },
      connections: { list in
        let connections = list()
        for connection in connections ?? [] { writer.write(connection) }
        writer.writeEndOfConnections(isWhole: connections != nil)
        return connections
      },
      noteFound: { reason, moment in writer.write(.found(reason), at: moment) },
      isNews: { reason, find in
        let isNews = find()
        if isNews { writer.writeNews(of: reason) }
        return isNews
      },
      findings: { find in
        if let findings = find() { writer.write(findings: findings) }
        return nil
      },
      moment: { cause in
        let moment = kernel.moment(cause)
        writer.write(cause, at: moment)
        return moment
      },
      isLost: kernel.isLost,
      onFailure: { body in writer.onFailure = { body($0) } })
  }

  /// Returns an input that replays a trace. It sends nothing to the kernel, and nothing waits.
  package static func replayed(_ player: TracePlayer) -> KernelInterface {
    KernelInterface(
      transport: .replayed(.replaying(player)),
      pause: { _ in },
      follow: { _ in },
      namespaces: { player.namespaces },
      traits: { _, index, _ in player.traits(ofLink: index) },
      lease: { _, index, address in player.isMetered(address, ofLink: index) },
      connections: { _ in player.connections() },
      noteFound: { _, _ in },
      isNews: { reason, _ in player.isNews(reason) },
      findings: { _ in player.findings },
      moment: { player.moment(of: $0) },
      isLost: { player.fault != nil },
      onFailure: { body in player.onFault = { body($0) } })
  }
}

extension NetlinkTransport.TraceTap {
  fileprivate static func recording(to writer: TraceWriter) -> NetlinkTransport.TraceTap {
    unsafe NetlinkTransport.TraceTap(
      perform: { call, channel, body throws(SystemError) in
        do throws(SystemError) {
          try body()
        } catch {
          writer.write(call, failedWith: error.code, on: channel)
          throw error
        }
      },
      receive: { channel, descriptor, buffer throws(SystemError) in
        do throws(SystemError) {
          let received = try unsafe NetlinkTransport.kernel.receive(channel, descriptor, buffer)
          switch received {
          case .messages(let count):
            unsafe writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, from: channel)
          case .wouldBlock: writer.writeEnd(of: channel)
          case .overrun: writer.writeOverrun(of: channel)
          }
          return received
        } catch {
          writer.write(.receive, failedWith: error.code, on: channel)
          throw error
        }
      })
  }

  fileprivate static func replaying(_ player: TracePlayer) -> NetlinkTransport.TraceTap {
    unsafe NetlinkTransport.TraceTap(
      perform: { call, channel, _ throws(SystemError) in try player.perform(call, on: channel) },
      receive: { channel, _, buffer throws(SystemError) in unsafe try player.receive(on: channel, into: buffer) })
  }
}
