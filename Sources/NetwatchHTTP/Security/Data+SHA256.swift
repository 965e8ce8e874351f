import CLibOpenSSL
import FoundationEssentials

extension Data {
  /// The SHA-256 of the bytes: 32 bytes.
  var sha256: Data {
    var hash = Data(count: 32)
    unsafe hash.withUnsafeMutableBytes { hash in
      unsafe withUnsafeBytes { bytes in
        _ = unsafe EVP_Digest(
          bytes.baseAddress, bytes.count, hash.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, EVP_sha256(), nil)
      }
    }
    return hash
  }
}
