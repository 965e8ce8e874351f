import Glibc

/// The two numbers that tell a file from every other one for as long as the file exists; all processes see the same two.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
}

extension FileIdentity {
  init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Nil if nothing stands at the path, or this process may not look.
  private init?(path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The network namespace of the calling thread.
  static var ownNetwork: FileIdentity? { FileIdentity(path: "/proc/thread-self/ns/net") }

  /// The network namespace of another process; nil if this process may not look.
  static func network(of process: CInt) -> FileIdentity? {
    process > 0 ? FileIdentity(path: "/proc/\(process)/ns/net") : nil
  }
}
