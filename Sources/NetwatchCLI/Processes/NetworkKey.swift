import Glibc
import Netwatch
import NetwatchEventLoop

/// The key of this machine for IDs of networks.
///
/// The key is computed from /etc/machine-id as in sd_id128_get_machine_app_specific(3). The ID of the machine must not leave
/// the machine, so it is the key of an HMAC, and the result does not reveal it. If the machine has no ID, as in many
/// containers, random bytes are kept in a file of the user.
enum NetworkKey {
  /// The random ID of netwatch, so that other programs get other keys from the same machine.
  private static let application: [UInt8] = [
    0x5b, 0x0e, 0x9c, 0x41, 0x7d, 0x26, 0x4f, 0xa3, 0x88, 0xe1, 0x3a, 0xd5, 0x62, 0xf7, 0x19, 0xbc,
  ]
  private static let saltLength = 32

  static func read() throws(PlainError) -> [UInt8] {
    if let machine = machineID() { return SHA256.authenticationCode(of: application, key: machine) }
    return try salt(in: try stateFolder())
  }

  /// Returns the ID of the machine, 16 bytes; nil if it has none.
  private static func machineID() -> [UInt8]? {
    guard let text = FileDescriptor.text(of: "/etc/machine-id"), text.utf8.count == 32 else { return nil }
    let digits = Array(text.utf8)
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[place...(place + 1)], as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    return bytes.contains { $0 != 0 } ? bytes : nil
  }

  /// Returns the user's folder for state, as defined by the XDG Base Directory Specification.
  private static func stateFolder() throws(PlainError) -> String {
    if let folder = String(environment: "XDG_STATE_HOME"), folder.hasPrefix("/") { return folder }
    if let home = String(environment: "HOME"), home.hasPrefix("/") { return home + "/.local/state" }
    throw PlainError(
      "the ID of the network needs /etc/machine-id or a folder of your own; run systemd-machine-id-setup, or set XDG_STATE_HOME"
    )
  }

  /// Returns the random bytes that are kept in a folder, and creates them if there are none.
  private static func salt(in state: String) throws(PlainError) -> [UInt8] {
    let folder = state + "/netwatch"
    let file = folder + "/network-salt"
    if let salt = bytes(of: file) { return salt }
    for (position, byte) in folder.utf8.enumerated() where position > 0 && byte == UInt8(ascii: "/") {
      _ = unsafe mkdir(String(folder.utf8.prefix(position)) ?? folder, 0o700)
    }
    unsafe mkdir(folder, 0o700)
    // Swift's default generator gets its bytes from the kernel.
    let fresh = (0..<saltLength).map { _ in UInt8.random(in: .min ... .max) }
    // The file is either complete or absent: another netwatch may create it at the same time, and the disk may be full.
    let draft = "\(file).\(getpid())"
    do throws(SystemError) {
      let descriptor = try FileDescriptor.result(
        of: "open", unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600))
      unsafe try FileDescriptor.writeAll(fresh.span.bytes, to: descriptor.rawValue)
      guard fsync(descriptor.rawValue) == 0 else { throw .last("fsync") }
    } catch {
      unsafe unlink(draft)
      throw failure(file, error)
    }
    let linked = unsafe link(draft, file)
    let error = SystemError.last("link")
    unsafe unlink(draft)
    guard linked == 0 || error.code == EEXIST, let salt = bytes(of: file) else { throw failure(file, error) }
    return salt
  }

  /// Returns the random bytes in a file. Nil if the file is missing or has another length.
  private static func bytes(of file: String) -> [UInt8]? {
    let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let owner = FileDescriptor(owning: descriptor)
    var bytes = [UInt8](repeating: 0, count: saltLength + 1)
    let count = unsafe Glibc.read(owner.rawValue, &bytes, bytes.count)
    return count == saltLength ? Array(bytes[..<saltLength]) : nil
  }

  private static func failure(_ file: String, _ error: SystemError) -> PlainError {
    PlainError(
      "cannot keep the salt of network IDs in '\(file)': \(error.message); run systemd-machine-id-setup, or set XDG_STATE_HOME"
    )
  }
}
