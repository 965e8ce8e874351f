import NetlinkWire
import Netwatch
import NetwatchEventLoop

/// Replays a trace in place of the kernel: each read gets the next record of the trace.
///
/// After the first fault there are no more records: every read fails, and the caller that plays the trace checks ``fault``.
package final class TracePlayer {
  private let reader: TraceReader
  /// The next record, if it has been read.
  private var next: TraceRecord?
  private var moment = EventTimestamp(monotonic: 0, wall: 0)
  /// The traits of each link that the trace has told last.
  private var devices: [Int32: DeviceTraits] = [:]
  /// What the trace has told last of what was found out apart from netlink; nil if it has told nothing.
  private var knownFindings: JSONValue?
  /// The cause that ``nextCause()`` has taken and whose time nobody has asked for yet.
  private var cause: KernelInterface.WakeReason?
  /// The error that ended the replay; nil if there is none.
  package private(set) var fault: TraceError?
  /// The closure that is called once, with the fault.
  package var onFault: ((TraceError) -> Void)?

  /// Creates a player of a trace.
  package init(_ reader: TraceReader) { self.reader = reader }

  /// The settings of the trace, in their order.
  package var settings: [TraceReader.Setting] { reader.settings }

  // MARK: What comes next

  /// Takes what made netwatch work next. Nil at the end or after a fault.
  ///
  /// Each record is taken once, so that a loop over the causes ends however its body responds. A cause whose time the body did
  /// not ask for made the recording netwatch work, but not this one. That is a fault.
  func nextCause() -> KernelInterface.WakeReason? {
    if cause != nil { refuse(needing: "something that netwatch responds to") }
    switch peek() {
    case nil: return nil
    case .cause(let cause, let moment):
      next = nil
      (self.cause, self.moment) = (cause, moment)
      return cause
    case .datagram, .overrun, .end, .failed, .device, .namespaces, .meteredLease, .news, .findings, .connection,
      .connectionsEnd:
      refuse(needing: "an event of a socket, a timer or the like")
      return nil
    }
  }

  /// Returns the time of `cause`, which has to be the cause that was taken last, or the next record.
  func moment(of cause: KernelInterface.WakeReason) -> EventTimestamp {
    if self.cause == cause {
      self.cause = nil
      return moment
    }
    guard case .cause(cause, let moment) = peek() else {
      refuse(needing: "'\(cause.kind)'")
      return self.moment
    }
    next = nil
    self.moment = moment
    return moment
  }

  /// Returns what `channel` reads next. The bytes of a datagram are copied to the beginning of `buffer`.
  func receive(
    on channel: NetlinkTransport.Channel, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> NetlinkTransport.Received {
    let record = peek()
    next = nil
    switch record {
    case .datagram(channel, let bytes):
      unsafe buffer.copyBytes(from: bytes.prefix(buffer.count))
      return .messages(min(bytes.count, buffer.count))
    case .end(channel): return .wouldBlock
    case .overrun(channel): return .overrun
    case .failed(channel, let call, let code): throw SystemError.netlink(call.operation, code)
    default:
      next = record
      refuse(needing: "what was read from '\(channel.rawValue)'")
      throw SystemError.netlink(NetlinkTransport.Call.receive.operation, 0)
    }
  }

  /// Fails if the trace has a failure of `call` next; else succeeds.
  func perform(_ call: NetlinkTransport.Call, on channel: NetlinkTransport.Channel) throws(SystemError) {
    guard case .failed(channel, call, let code) = peek() else { return }
    next = nil
    throw SystemError.netlink(call.operation, code)
  }

  func traits(ofLink index: Int32) -> DeviceTraits {
    guard case .device(index, let traits) = peek() else {
      // Recordings of netwatch before rfkill was known asked only once for a radio.
      if let known = devices[index] { return known }
      refuse(needing: "the device of link \(index)")
      return DeviceTraits()
    }
    next = nil
    devices[index] = traits
    return traits
  }

  /// The namespaces that belonged to the recording netwatch alone. Empty if the trace has no such record.
  var namespaces: IsolatedNamespaces {
    guard case .namespaces(let namespaces) = peek() else { return [] }
    next = nil
    return namespaces
  }

  /// Returns whether the trace has a metered lease of this address next.
  func isMetered(_ address: InternetAddress, ofLink index: Int32) -> Bool {
    guard case .meteredLease(index, address) = peek() else { return false }
    next = nil
    return true
  }

  /// Returns whether the trace says next that a change of links is news in this respect.
  func isNews(_ reason: ReachabilityReason) -> Bool {
    guard case .news(reason) = peek() else { return false }
    next = nil
    return true
  }

  /// What was found out apart from netlink when the next line was printed; nil if that was nothing.
  var findings: JSONValue? {
    if case .findings(let value) = peek() { (next, knownFindings) = (nil, value) }
    return knownFindings
  }

  /// Returns the TCP connections of a look; nil if the list was incomplete.
  func connections() -> [ConnectionFacts]? {
    var connections: [ConnectionFacts] = []
    while true {
      switch peek() {
      case .connection(let facts): connections.append(facts)
      case .connectionsEnd(let isWhole):
        next = nil
        return isWhole ? connections : nil
      default:
        refuse(needing: "a connection, or the end of the connections")
        return nil
      }
      next = nil
    }
  }

  // MARK: Reading

  private func peek() -> TraceRecord? {
    guard fault == nil else { return nil }
    if let next { return next }
    do throws(TraceError) {
      next = try reader.next()
    } catch {
      stop(because: error)
    }
    return next
  }

  /// Stops the replay, because the next record does not fit, or there is none.
  func refuse(needing needed: String) {
    let isAtEnd = next == nil && cause == nil
    stop(because: reader.failure(isAtEnd ? .cut : .unexpected(reader.excerpt, needed: needed)))
  }

  private func stop(because error: TraceError) {
    guard fault == nil else { return }
    fault = error
    next = nil
    onFault?(error)
  }
}
