import Glibc
import Netwatch
import NetwatchEventLoop

/// The folder of `--hooks`, whose executable files run for each line, in the order of their names.
///
/// The folder is read again for each line, so a new file runs from the next line on. Anybody who can change a hook, or a link
/// that leads to it, has the rights of the user who runs netwatch. So the files are checked again for each line, before they
/// run.
final class HookFolder {
  /// The endings of files that editors and package managers leave behind, as in NetworkManager's dispatcher.
  private static let leftovers = ["~", ".bak", ".swp", ".orig", ".rpmsave", ".rpmnew", ".rpmorig"]

  private let path: String
  private let say: (_ sentence: String) -> Void
  /// The sentences that were reported. Each is reported once.
  private var said: Set<String> = []

  /// - Parameters:
  ///   - path: The path of the folder, which does not have to exist yet.
  ///   - say: The closure that gets each sentence for people. Default: it writes to standard error.
  init(_ path: String, say: @escaping (_ sentence: String) -> Void = StandardError.tell) {
    self.path = path
    self.say = say
  }

  /// Returns the full paths of the files that may run now. For each other file, it is reported once what to do.
  func programs() -> [String] {
    do throws(PlainError) {
      let names = try names()
      return names.compactMap { name in
        do throws(PlainError) {
          return try HookFile.checked("\(path)/\(name)")
        } catch {
          sayOnce(error)
          return nil
        }
      }
    } catch {
      sayOnce(error)
      return []
    }
  }

  private func sayOnce(_ error: PlainError) {
    let sentence = error.description.harmless
    if said.insert(sentence).inserted { say(sentence) }
  }

  /// Returns the names of the files in the order of their bytes, without hidden files and leftovers.
  private func names() throws(PlainError) -> [String] {
    guard let folder = unsafe opendir(path) else {
      throw PlainError("cannot read the folder of hooks '\(path)': \(SystemError.last("opendir").message)")
    }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name.hasPrefix(".") || name.contains(".dpkg-") || Self.leftovers.contains(where: name.hasSuffix) { continue }
      names.append(name)
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
