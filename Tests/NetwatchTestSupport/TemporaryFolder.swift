import Foundation

/// A folder of a test's own that goes with its last reference. Its path is short enough for that of a socket in it.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    var template = Array("/tmp/netwatch-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package var url: URL { URL(filePath: path) }

  /// The path of a file in the folder.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  package func url(_ name: String) -> URL { url.appending(path: name) }

  /// What lies in it.
  package var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

  /// The text of a file; nothing if there is none.
  package func text(of name: String) -> String { (try? String(contentsOf: url(name), encoding: .utf8)) ?? "" }

  /// Writes a file in place: one that is there stays the same file. It is not made sure that the disk has it, as Foundation does, which
  /// takes a tenth of a second where the disk is busy.
  @discardableResult
  package func write(_ data: Data, to name: String) throws -> URL {
    let url = url(name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard let file = unsafe fopen(url.path, "we") else { throw TestFailure("\(url.path): \(errno)") }
    let count = unsafe data.withUnsafeBytes { unsafe fwrite($0.baseAddress, 1, $0.count, file) }
    guard unsafe fclose(file) == 0, count == data.count else { throw TestFailure("\(url.path): \(errno)") }
    return url
  }

  @discardableResult
  package func write(_ text: String, to name: String) throws -> URL { try write(Data(text.utf8), to: name) }

  /// Puts a file over whatever is there.
  package func rename(_ old: String, to new: String) throws {
    guard unsafe Foundation.rename(file(old), file(new)) == 0 else { throw TestFailure("rename \(old): \(errno)") }
  }

  package func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
  }

  package func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
  }

  package func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }
}
