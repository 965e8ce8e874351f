import Foundation
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

/// What a service does with files at the path of its socket, whoever made them.
@Suite struct ListeningSocketTests {
  private static func mode(_ path: String) -> mode_t {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  // MARK: The lock

  @Test func `a lock that leads elsewhere is not followed`() throws {
    let folder = try TemporaryFolder()
    let precious = try folder.addPrecious()
    for target in [precious, folder.file("nothing")] {
      #expect(unsafe symlink(target, folder.lock) == 0)
      #expect(folder.refusal().hasPrefix("\(folder.lock) is not a plain file of this user"))
      #expect(unsafe unlink(folder.lock) == 0)
    }
    #expect(Self.mode(precious) == 0o644)
    #expect(try folder.names == ["precious"])
  }

  @Test func `a second name of a file is no lock`() throws {
    let folder = try TemporaryFolder()
    let precious = try folder.addPrecious()
    #expect(unsafe link(precious, folder.lock) == 0)
    #expect(folder.refusal().hasPrefix("\(folder.lock) is not a plain file of this user"))
    #expect(Self.mode(precious) == 0o644)
    #expect(try folder.names == ["precious", "s.lock"])
  }

  @Test func `a pipe is no lock, and holds up nobody`() throws {
    let folder = try TemporaryFolder()
    #expect(unsafe mkfifo(folder.lock, 0o666) == 0)
    #expect(folder.refusal().hasPrefix("\(folder.lock) is not a plain file of this user"))
    #expect(try folder.names == ["s.lock"])
  }

  @Test func `a stranger's lock is left alone`() throws {
    // Only root can give a file to another user.
    guard geteuid() == 0 else { return }
    let folder = try TemporaryFolder()
    try Data().write(to: URL(filePath: folder.lock))
    #expect(unsafe chmod(folder.lock, 0o666) == 0)
    #expect(unsafe chown(folder.lock, 1_000, 1_000) == 0)
    #expect(folder.refusal().hasPrefix("\(folder.lock) is not a plain file of this user"))
    #expect(Self.mode(folder.lock) == 0o666)
    #expect(try folder.names == ["s.lock"])
  }

  @Test func `a lock that is left over is used, and nobody else can hold it`() throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(filePath: folder.lock))
    #expect(unsafe chmod(folder.lock, 0o666) == 0)
    let socket = try ListeningSocket(at: folder.address)
    #expect(Self.mode(folder.lock) == 0o600)
    withExtendedLifetime(socket) {}
  }

  // MARK: The socket

  @Test func `a link where the socket is to be is not followed`() throws {
    let folder = try TemporaryFolder()
    let precious = try folder.addPrecious()
    #expect(unsafe symlink(precious, folder.address.path) == 0)
    #expect(folder.refusal().hasPrefix("\(folder.address.path) is no socket"))
    #expect(try folder.names == ["precious", "s"])
    // A link to a socket on which no program listens is not followed either.
    let other = try TemporaryFolder()
    try other.addDeadSocket()
    #expect(unsafe unlink(folder.address.path) == 0)
    #expect(unsafe symlink(other.address.path, folder.address.path) == 0)
    #expect(folder.refusal().hasPrefix("\(folder.address.path) is no socket"))
    #expect(try other.names == ["s"])
  }

  @Test func `a stranger's dead socket is left alone, our own is taken over`() throws {
    let folder = try TemporaryFolder()
    try folder.addDeadSocket()
    if geteuid() == 0 {
      #expect(unsafe chown(folder.address.path, 1_000, 1_000) == 0)
      #expect(folder.refusal().hasPrefix("\(folder.address.path) belongs to another user"))
      #expect(try folder.names == ["s"])
      #expect(unsafe chown(folder.address.path, 0, 0) == 0)
    }
    do {
      let socket = try ListeningSocket(at: folder.address)
      #expect(Self.mode(folder.address.path) == 0o600)
      withExtendedLifetime(socket) {}
    }
    #expect(try folder.names == [])
  }

  @Test func `what has taken the place of our files stays`() throws {
    let folder = try TemporaryFolder()
    do {
      let socket = try ListeningSocket(at: folder.address)
      for path in [folder.address.path, folder.lock] {
        #expect(unsafe unlink(path) == 0)
        try "precious".write(toFile: path, atomically: false, encoding: .utf8)
      }
      withExtendedLifetime(socket) {}
    }
    #expect(try folder.names == ["s", "s.lock"])
  }
}

extension TemporaryFolder {
  fileprivate var address: ServiceAddress { ServiceAddress(path: file("s")) }
  fileprivate var lock: String { file("s.lock") }

  /// Writes a file that must not be changed.
  fileprivate func addPrecious() throws -> String {
    try "precious".write(toFile: file("precious"), atomically: false, encoding: .utf8)
    #expect(unsafe chmod(file("precious"), 0o644) == 0)
    return file("precious")
  }

  fileprivate func refusal() -> String {
    #expect(throws: PlainError.self) { try ListeningSocket(at: address) }?.description ?? ""
  }

  /// Makes a socket on which no program listens.
  fileprivate func addDeadSocket() throws {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    #expect(try unsafe address.withSocketAddress { unsafe bind(descriptor, $0, $1) } == 0)
    close(descriptor)
  }
}
