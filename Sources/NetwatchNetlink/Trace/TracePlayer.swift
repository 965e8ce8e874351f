import Netwatch

/// Stands in the kernel's place: gives what a trace holds, in its order, to whoever asks for what comes next.
///
/// After the first fault it has nothing more to give: every read fails, and who plays the trace looks at ``fault``.
package final class TracePlayer {
  private let reader: TraceReader
  /// The record that comes next, if it has been looked at.
  private var next: TraceRecord?
  private var moment = Moment(monotonic: 0, wall: 0)
  /// Why it cannot go on.
  package private(set) var fault: TraceError?
  /// Called once, with the fault.
  package var onFault: ((TraceError) -> Void)?

  package init(_ reader: TraceReader) { self.reader = reader }

  package var settings: [TraceReader.Setting] { reader.settings }

  // MARK: What comes next

  /// What made netwatch work next. Nil at the end, or after a fault.
  func nextCause() -> NetlinkInput.Cause? {
    switch peek() {
    case nil: return nil
    case .cause(let cause, _): return cause
    case .datagram, .overrun, .end, .failed, .device, .namespaces, .meteredLease, .connection, .connectionsEnd:
      refuse(needing: "a turn, a timer or the like")
      return nil
    }
  }

  /// The time of `cause`, which has to come next.
  func moment(of cause: NetlinkInput.Cause) -> Moment {
    guard case .cause(cause, let moment) = peek() else {
      refuse(needing: "'\(cause.kind)'")
      return self.moment
    }
    next = nil
    self.moment = moment
    return moment
  }

  /// What `channel` gives next; a datagram goes to the beginning of `buffer`.
  func receive(
    on channel: NetlinkInput.Channel, into buffer: UnsafeMutableRawBufferPointer
  ) throws(NetlinkError) -> NetlinkInput.Received {
    let record = peek()
    next = nil
    switch record {
    case .datagram(channel, let bytes):
      unsafe buffer.copyBytes(from: bytes.prefix(buffer.count))
      return .messages(min(bytes.count, buffer.count))
    case .end(channel): return .wouldBlock
    case .overrun(channel): return .overrun
    case .failed(channel, let call, let code): throw NetlinkError(operation: call.operation, code: code)
    default:
      next = record
      refuse(needing: "what was read from '\(channel.rawValue)'")
      throw NetlinkError(operation: NetlinkInput.Call.receive.operation, code: 0)
    }
  }

  /// Succeeds if `call` did, and fails as it did.
  func perform(_ call: NetlinkInput.Call, on channel: NetlinkInput.Channel) throws(NetlinkError) {
    guard case .failed(channel, call, let code) = peek() else { return }
    next = nil
    throw NetlinkError(operation: call.operation, code: code)
  }

  func traits(ofLink index: Int32) -> DeviceTraits {
    guard case .device(index, let traits) = peek() else {
      refuse(needing: "the device of link \(index)")
      return DeviceTraits()
    }
    next = nil
    return traits
  }

  /// Those that netwatch had of its own. A trace that does not say so has none.
  var namespaces: OwnNamespaces {
    guard case .namespaces(let namespaces) = peek() else { return [] }
    next = nil
    return namespaces
  }

  /// A trace that does not say so has none.
  func isMetered(_ address: IPAddress, ofLink index: Int32) -> Bool {
    guard case .meteredLease(index, address) = peek() else { return false }
    next = nil
    return true
  }

  /// What a look at the TCP connections has found; nil if it was not whole.
  func connections() -> [ConnectionFacts]? {
    var connections: [ConnectionFacts] = []
    while true {
      switch peek() {
      case .connection(let facts): connections.append(facts)
      case .connectionsEnd(let isWhole):
        next = nil
        return isWhole ? connections : nil
      default:
        refuse(needing: "a connection, or the end of them")
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

  /// What comes next is something else, or nothing.
  func refuse(needing needed: String) {
    stop(because: reader.failure(next == nil ? .cut : .unexpected(reader.excerpt, needed: needed)))
  }

  private func stop(because error: TraceError) {
    guard fault == nil else { return }
    fault = error
    next = nil
    onFault?(error)
  }
}
