import Glibc

/// The device and inode of a file. They identify the file as long as it exists, and all processes see the same two numbers.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
}

extension FileIdentity {
  init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Nil if there is no file at the path, or this process has no permission to look.
  private init?(path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The network namespace of the calling thread.
  static var ownNetwork: FileIdentity? { FileIdentity(path: "/proc/thread-self/ns/net") }

  /// Returns the network namespace of another process; nil if this process has no permission to look.
  static func network(of process: CInt) -> FileIdentity? {
    process > 0 ? FileIdentity(path: "/proc/\(process)/ns/net") : nil
  }
}
