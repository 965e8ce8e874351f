import Netwatch

/// Secrets of this machine, one for each use, that are the same after each start.
///
/// A secret is computed from /etc/machine-id as in sd_id128_get_machine_app_specific(3). The ID of the machine must not leave the
/// machine, so it is the key of an HMAC, and the result does not reveal it.
package enum MachineKey {
  /// Returns 32 bytes; nil if the machine has no ID, as in many containers.
  ///
  /// - Parameter use: The random ID of the use, so that each has other bytes.
  package static func read(for use: [UInt8]) -> [UInt8]? {
    guard let text = FileDescriptor.text(of: "/etc/machine-id"), text.utf8.count == 32 else { return nil }
    let digits = Array(text.utf8)
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[place...(place + 1)], as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    return bytes.contains { $0 != 0 } ? SHA256.authenticationCode(of: use, key: bytes) : nil
  }
}
