import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The key of this machine for IDs of networks.
///
/// It is computed from the ID of the machine. If that has none, random bytes are kept in a file of the user.
package enum NetworkKey {
  /// The random ID of netwatch, so that other programs get other keys from the same machine.
  private static let application: [UInt8] = [
    0x5b, 0x0e, 0x9c, 0x41, 0x7d, 0x26, 0x4f, 0xa3, 0x88, 0xe1, 0x3a, 0xd5, 0x62, 0xf7, 0x19, 0xbc,
  ]
  private static let saltLength = 32
  private static let fileName = "network-salt"

  /// Returns the key, and creates it if it has to be kept in a file and is not there.
  ///
  /// - Parameter warn: Gets a sentence for people if the file was damaged, so that all IDs change. Default: writes it to standard error.
  /// - Throws: A `PlainError` if there is no place for it.
  package static func read(
    warn: (_ sentence: String) -> Void = StandardError.warn
  ) throws(PlainError) -> [UInt8] {
    if let key = MachineKey.read(for: application) { return key }
    guard let state = UserFolder.state else {
      throw PlainError(
        "the ID of the network needs /etc/machine-id or a folder of your own; run systemd-machine-id-setup, or set XDG_STATE_HOME"
      )
    }
    return try salt(in: state, warn)
  }

  /// Returns the random bytes that are kept in a folder, and creates them if there are none.
  ///
  /// A file of another length is no salt, such as an empty one after a power loss. It is renamed, which is reported.
  private static func salt(in state: String, _ warn: (_ sentence: String) -> Void) throws(PlainError) -> [UInt8] {
    let path = "\(state)/netwatch/\(fileName)"
    let folder: TrustedPath
    do throws(TrustedPath.Fault) {
      folder = try TrustedPath("\(state)/netwatch", creatingFolders: 0o700, acceptsOwnGroups: true)
    } catch {
      if case .belongsToOthers(let place) = error { throw failure(path, "'\(place)' belongs to another user") }
      throw failure(path, "\(error)")
    }
    do throws(SystemError) {
      if let salt = try salt(in: folder) { return salt }
      // Another netwatch may do the same at this moment. File systems that have no such lock are used without it.
      let lock = try FileDescriptor.result(
        of: "open", unsafe openat(folder.descriptor.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
      while flock(lock.rawValue, LOCK_EX) != 0, errno == EINTR {}
      if let salt = try salt(in: folder) { return salt }
      if let aside = try setAside(in: folder) {
        warn(
          "the salt of network IDs '\(path)' was damaged and renamed to '\(aside)'; all network IDs change"
            .sanitizedForTerminal)
      }
      try createSalt(in: folder)
      guard let salt = try salt(in: folder) else { throw SystemError(operation: "read", code: EIO) }
      return salt
    } catch {
      throw failure(path, error.message)
    }
  }

  /// Returns the random bytes in a folder. Nil if there is no such file, or it is no salt.
  private static func salt(in folder: borrowing TrustedPath) throws(SystemError) -> [UInt8]? {
    // Without O_NONBLOCK, a named pipe would wait for its other end.
    let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    let descriptor = unsafe openat(folder.descriptor.rawValue, fileName, flags)
    if descriptor < 0, errno == ENOENT || errno == ELOOP { return nil }
    let file = try FileDescriptor.result(of: "open", descriptor)
    var bytes = [UInt8](repeating: 0, count: saltLength + 1)
    let count = unsafe NetwatchLibC.read(file.rawValue, &bytes, bytes.count)
    if count < 0, errno != EISDIR, errno != EAGAIN { throw .last("read") }
    let salt = Array(bytes[..<saltLength])
    return count == saltLength && salt.contains { $0 != 0 } ? salt : nil
  }

  /// Renames what has the name of the salt.
  ///
  /// - Returns: The new name; nil if there was nothing.
  private static func setAside(in folder: borrowing TrustedPath) throws(SystemError) -> String? {
    let aside = "\(fileName).damaged-\(KernelClock.wall.nanoseconds / 1_000_000_000)"
    let number = folder.descriptor.rawValue
    guard unsafe renameat(number, fileName, number, aside) != 0 else { return aside }
    guard errno == ENOENT else { throw .last("rename") }
    return nil
  }

  /// Creates the file. It is either complete or absent: the disk may be full, and the machine may lose its power.
  private static func createSalt(in folder: borrowing TrustedPath) throws(SystemError) {
    // Swift's default generator gets its bytes from the kernel.
    let fresh = (0..<saltLength).map { _ in UInt8.random(in: .min ... .max) }
    let draft = "\(fileName).\(getpid())"
    let number = folder.descriptor.rawValue
    _ = unsafe unlinkat(number, draft, 0)
    let file = try FileDescriptor.result(
      of: "open", unsafe openat(number, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600))
    defer { _ = unsafe unlinkat(number, draft, 0) }
    unsafe try FileDescriptor.writeAll(fresh.span.bytes, to: file.rawValue)
    guard fsync(file.rawValue) == 0 else { throw .last("fsync") }
    guard unsafe linkat(number, draft, number, fileName, 0) == 0 || errno == EEXIST else { throw .last("link") }
  }

  private static func failure(_ file: String, _ reason: String) -> PlainError {
    PlainError(
      "cannot keep the salt of network IDs in '\(file)': \(reason); run systemd-machine-id-setup, or set XDG_STATE_HOME"
    )
  }
}
