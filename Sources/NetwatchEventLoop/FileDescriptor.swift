import Glibc

/// An open file descriptor, closed when it goes out of scope.
public struct FileDescriptor: ~Copyable, Sendable {
  public let rawValue: CInt

  /// Takes ownership of `rawValue`, which must be open.
  public init(owning rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// Takes ownership of what a call returned, or throws its error.
  package static func result(of operation: String, _ value: CInt) throws(SystemError) -> FileDescriptor {
    guard value >= 0 else { throw .last(operation) }
    return FileDescriptor(owning: value)
  }

  deinit { _ = Glibc.close(rawValue) }
}
