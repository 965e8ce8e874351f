import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A payload that waits for the broker.
package struct WaitingLine: Hashable, Sendable {
  package let run: FleetRun
  package let number: Int64
  /// How many lines a record of a gap stands for; 0 for a line.
  package let lost: Int64
  package let payload: [UInt8]

  package init(_ line: FleetLine) {
    (run, number, payload) = (line.run, line.number, line.payload)
    lost = if case .gap(let count) = line.content { count } else { 0 }
  }

  /// - Returns: Nil if the payload is none.
  init?(payload: [UInt8]) {
    guard let line = FleetLine(payload) else { return nil }
    (run, number, self.payload) = (line.run, line.number, payload)
    lost = if case .gap(let count) = line.content { count } else { 0 }
  }
}

/// The file of the lines that wait for the broker, one payload on each line, so that they outlive the program and a loss of power. Belongs
/// to one thread, which waits for the disk.
package final class LineSpool {
  /// The bytes without use from which on the file is written anew.
  private static let mostWaste = 256 * 1_024
  /// The largest file that is read, so that a file of somebody's cannot fill the memory.
  private static let mostBytes = 256 * 1_024 * 1_024

  private let path: String
  private var file: FileDescriptor?
  /// The sizes of the lines in the file that are still needed, the oldest first.
  private var sizes: ArraySlice<Int> = []
  /// The bytes before them.
  private var waste = 0
  /// Whether the file lacks lines, because the disk did not take them.
  package private(set) var isBehind = false
  /// The time between two attempts to write all lines to a disk without room, so that not each line does so.
  private static let pause = Duration.seconds(10)
  private var nextAttempt = Duration.zero

  /// - Parameter path: The path of the file, in a folder that only this user can write.
  package init(_ path: String) { self.path = path }

  /// Reads the lines of earlier runs, maybe also some that the broker already has. One that was being written at a loss of power is left
  /// out.
  ///
  /// - Throws: A `PlainError` if the file is there and cannot be read, or is too large.
  package func read(at now: Duration) throws(PlainError) -> [WaitingLine] {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try Self.bytes(path)
    } catch {
      if error.code == ENOENT { return [] }
      throw PlainError("cannot read the lines that wait in '\(path)': \(error.message)")
    }
    let texts = bytes.split(separator: UInt8(ascii: "\n"))
    let lines = texts.compactMap { WaitingLine(payload: Array($0)) }
    if lines.count < texts.count || (!bytes.isEmpty && bytes.last != UInt8(ascii: "\n")) {
      replace(with: lines[...], at: now)
    } else {
      try? use(lines[...])
    }
    return lines
  }

  private static func bytes(_ path: String) throws(SystemError) -> [UInt8] {
    let file = try FileDescriptor.result(of: "open", unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 256 * 1_024)
    while true {
      let count = unsafe NetwatchLibC.read(file.rawValue, &room, room.count)
      guard count != 0 else { return bytes }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw .last("read")
      }
      bytes += room[..<count]
      guard bytes.count <= mostBytes else { throw SystemError(operation: "read", code: EFBIG) }
    }
  }

  /// Adds lines, and flushes them to the disk.
  ///
  /// - Parameters:
  ///   - new: The lines, which are also the last ones of `all`.
  ///   - all: All lines that wait.
  package func append(_ new: some Collection<WaitingLine>, of all: ArraySlice<WaitingLine>, at now: Duration) {
    if isBehind { return catchUp(all, at: now) }
    guard file != nil else { return replace(with: all, at: now) }
    do throws(SystemError) {
      try write(new)
    } catch {
      fallBehind(at: now)
    }
  }

  /// Notes that the first lines are not needed any more.
  ///
  /// - Parameter all: All lines that still wait.
  package func removeFirst(_ count: Int, of all: ArraySlice<WaitingLine>, at now: Duration) {
    waste += sizes.prefix(count).reduce(0, +)
    sizes = sizes.dropFirst(count)
    if all.isEmpty, let file = file?.rawValue, ftruncate(file, 0) == 0 {
      // Lines that come back by a loss of power are told as what they are.
      (sizes, waste, isBehind) = ([], 0, false)
    } else if isBehind {
      catchUp(all, at: now)
    } else if waste > max(Self.mostWaste, sizes.reduce(0, +)) {
      replace(with: all, at: now)
    }
  }

  /// Writes the file anew.
  package func replace(with all: ArraySlice<WaitingLine>, at now: Duration) {
    do throws(SystemError) {
      try TextFile.replace(path, with: all.flatMap { $0.payload + [UInt8(ascii: "\n")] })
      try use(all)
    } catch {
      fallBehind(at: now)
    }
  }

  /// Writes the file anew if it lacks lines, and some time after the last attempt. Call this also while no lines come.
  package func catchUp(_ all: ArraySlice<WaitingLine>, at now: Duration) {
    if isBehind, now >= nextAttempt { replace(with: all, at: now) }
  }

  private func fallBehind(at now: Duration) { (isBehind, nextAttempt) = (true, now + Self.pause) }

  /// Writes at the end of the file from now on, which has these lines.
  private func use(_ all: ArraySlice<WaitingLine>) throws(SystemError) {
    file = try FileDescriptor.result(of: "open", unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW))
    (sizes, waste, isBehind) = (all.map { $0.payload.count + 1 }[...], 0, false)
  }

  private func write(_ lines: some Collection<WaitingLine>) throws(SystemError) {
    guard let file = file?.rawValue else { return }
    let bytes = lines.flatMap { $0.payload + [UInt8(ascii: "\n")] }
    try unsafe FileDescriptor.writeAll(bytes.span.bytes, to: file)
    guard fdatasync(file) == 0 else { throw .last("fdatasync") }
    sizes += lines.map { $0.payload.count + 1 }
  }
}
