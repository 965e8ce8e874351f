import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Writes a trace; see ``TraceFormat``. Each record is written with one write(2), so that it is in the file however the process
/// ends.
package final class TraceWriter {
  private let path: String
  private let file: FileDescriptor
  private var line = LineBuffer()
  private var lines = 0
  /// The number of bytes of complete records.
  private var length = 0
  private var failure: TraceError?
  /// The findings that were written last.
  private var findings: String?
  /// The closure that is called once, with the first failure. Nothing is written after it.
  package var onFailure: ((TraceError) -> Void)?

  /// Creates the file with permissions for its owner only, and writes the settings.
  ///
  /// An existing file is not changed. A pipe or a device is written to.
  ///
  /// - Throws: A ``TraceError`` if the file exists, or cannot be created or written.
  package init(creating path: String, _ settings: [TraceReader.Setting] = []) throws(TraceError) {
    self.path = path
    file = try Self.open(path)
    write { $0.append(text: TraceFormat.header) }
    for setting in settings {
      write { line in
        line.append("set ")
        line.append(escaped: setting.key)
        guard let value = setting.value else { return }
        line.append(" ")
        line.append(escaped: value)
      }
    }
    if let failure { throw failure }
  }

  private static func open(_ path: String) throws(TraceError) -> FileDescriptor {
    let flags = O_WRONLY | O_CLOEXEC | O_NOCTTY
    let new = unsafe NetwatchLibC.open(path, flags | O_CREAT | O_EXCL, 0o600)
    if new >= 0 { return FileDescriptor(owning: new) }
    guard errno == EEXIST else { throw TraceError(file: path, line: 0, problem: .unwritable(code: errno)) }
    let existing = unsafe NetwatchLibC.open(path, flags)
    guard existing >= 0 else { throw TraceError(file: path, line: 0, problem: .exists) }
    let file = FileDescriptor(owning: existing)
    var status = stat()
    guard unsafe fstat(existing, &status) == 0, [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) else {
      throw TraceError(file: path, line: 0, problem: .exists)
    }
    return file
  }

  // MARK: Records

  func write(_ cause: KernelInterface.WakeReason, at moment: EventTimestamp) {
    write { line in
      line.append(cause.kind)
      line.append(" ")
      line.appendDecimal(UInt64(clamping: moment.monotonic))
      line.append(" ")
      line.appendDecimal(UInt64(clamping: moment.wall))
      switch cause {
      case .start, .resumed, .unresolved, .signal, .leases: break
      case .turn(let channel): line.append(word: channel.rawValue)
      case .sampling, .quality:
        line.append(" ")
        line.appendDecimal(UInt64(clamping: moment.suspended))
      case .timer(let timer): line.append(word: timer.name)
      case .resolved(let addresses): for address in addresses { line.append(word: address.description) }
      case .found(let reason): line.append(word: reason.rawValue)
      }
    }
  }

  func write(_ namespaces: IsolatedNamespaces) {
    write { line in
      line.append(text: TraceFormat.namespaces)
      if namespaces.contains(.users) { line.append(word: TraceFormat.users) }
      if namespaces.contains(.network) { line.append(word: TraceFormat.network) }
    }
  }

  /// Writes one datagram. Cryptographic keys in it are replaced by zeros.
  func write(_ datagram: RawSpan, from channel: NetlinkTransport.Channel) {
    let keys = channel == .wirelessEvent ? WirelessDecoder.placesOfKeys(in: datagram) : []
    write { line in
      line.append(text: channel.rawValue)
      line.append(" ")
      for offset in 0..<datagram.byteCount {
        let byte = keys.contains { $0.contains(offset) } ? 0 : datagram.load(offset, as: UInt8.self)
        line.appendHex(UInt16(byte), digits: 2)
      }
    }
  }

  func writeOverrun(of channel: NetlinkTransport.Channel) {
    write { line in
      line.append(text: channel.rawValue)
      line.append(" overrun")
    }
  }

  func writeEnd(of channel: NetlinkTransport.Channel) {
    write { line in
      line.append(text: channel.rawValue)
      line.append(" end")
    }
  }

  func write(_ call: NetlinkTransport.Call, failedWith code: CInt, on channel: NetlinkTransport.Channel) {
    write { line in
      line.append(text: channel.rawValue)
      line.append(" failed")
      line.append(word: call.rawValue)
      line.append(" ")
      line.appendDecimal(UInt64(clamping: code))
    }
  }

  func write(_ traits: DeviceTraits, ofLink index: Int32) {
    write { line in
      line.append("device")
      line.append(word: "\(index)")
      if traits.isWireless { line.append(" wireless") }
      if traits.isTether { line.append(" tether") }
      if let block = traits.radioBlock {
        line.append(word: TraceFormat.blockPrefix)
        line.append(text: block.rawValue)
      }
      guard let type = traits.type else { return }
      line.append(word: TraceFormat.typePrefix)
      line.append(escaped: type)
    }
  }

  func writeMeteredLease(of address: InternetAddress, ofLink index: Int32) {
    write { line in
      line.append(text: TraceFormat.lease)
      line.append(word: "\(index)")
      line.append(word: address.description)
    }
  }

  func writeNews(of reason: ReachabilityReason) {
    write { line in
      line.append(text: TraceFormat.news)
      line.append(word: reason.rawValue)
    }
  }

  /// Writes what was found out apart from netlink, as JSON. Nothing is written if that is the same as before.
  func write(findings: String) {
    guard findings != self.findings else { return }
    self.findings = findings
    write { line in
      line.append(text: TraceFormat.findings)
      line.append(word: findings)
    }
  }

  /// Writes one connection of a look.
  func write(_ connection: ConnectionFacts) {
    write { line in
      line.append(text: TraceFormat.connection)
      for number in TraceFormat.numbers(of: connection) {
        line.append(" ")
        line.appendDecimal(number)
      }
    }
  }

  func writeEndOfConnections(isWhole: Bool) {
    write { line in
      line.append(text: TraceFormat.connection)
      line.append(word: isWhole ? TraceFormat.end : TraceFormat.cut)
    }
  }

  // MARK: Lines

  private func write(_ fill: (inout LineBuffer) -> Void) {
    guard failure == nil else { return }
    line.removeAll()
    fill(&line)
    line.append("\n")
    lines += 1
    do throws(SystemError) {
      try line.withBytes { bytes throws(SystemError) in try FileDescriptor.writeAll(bytes, to: file.rawValue) }
      length += line.count
    } catch {
      // A part of a record would be a recording that is cut. A pipe cannot be cut.
      _ = ftruncate(file.rawValue, off_t(length))
      let failure = TraceError(file: path, line: lines, problem: .unwritable(code: error.code))
      self.failure = failure
      onFailure?(failure)
    }
  }
}

extension LineBuffer {
  fileprivate mutating func append(word: String) {
    append(" ")
    append(text: word)
  }

  /// Appends a text in which spaces, control characters and `%` are escaped, such as `%20`.
  fileprivate mutating func append(escaped text: String) {
    for byte in text.utf8 {
      if byte > 0x20, byte != 0x7f, byte != UInt8(ascii: "%") {
        append(byte)
      } else {
        append("%")
        appendHex(UInt16(byte), digits: 2)
      }
    }
  }
}
