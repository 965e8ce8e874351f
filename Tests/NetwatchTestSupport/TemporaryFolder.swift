import Foundation

/// A folder below /tmp for one test. The folder is deleted when the last reference to this object is gone.
///
/// The path is short, because the kernel permits at most 107 bytes for the path of a Unix socket in the folder.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    var template = Array("/tmp/netwatch-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package var url: URL { URL(filePath: path) }

  /// Returns the path of a file in the folder.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  package func url(_ name: String) -> URL { url.appending(path: name) }

  /// The names of all files and folders in this folder, sorted.
  package var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

  /// Returns the text of a file, or an empty text if there is no such file.
  package func text(of name: String) -> String { (try? String(contentsOf: url(name), encoding: .utf8)) ?? "" }

  /// Writes a file in place, so that an existing file keeps its inode. Folders that lie between are created.
  ///
  /// Unlike Foundation, this method does not wait until the data is on the disk. That takes a tenth of a second if the
  /// disk is busy.
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

  /// Renames a file. If a file has the new name, it is replaced.
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
