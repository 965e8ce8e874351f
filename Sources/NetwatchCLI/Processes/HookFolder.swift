import Glibc
import Netwatch
import NetwatchEventLoop

/// The folder of `--hooks`: its executable files run for each line, in the order of their names.
///
/// The folder is read again for each line, so a file counts from the moment that it is there. Whoever can change a hook, or
/// what its name leads to, has the rights of the user who runs netwatch; so each file is judged each time, just before it runs.
final class HookFolder {
  /// Files that editors and package managers leave behind, as NetworkManager's dispatcher has them too.
  private static let leftovers = ["~", ".bak", ".swp", ".orig", ".rpmsave", ".rpmnew", ".rpmorig"]

  private let path: String
  private let say: (_ sentence: String) -> Void
  /// What has been said; each sentence is said once.
  private var said: Set<String> = []

  /// - Parameters:
  ///   - path: the folder. It need not exist yet.
  ///   - say: gets each sentence for people.
  init(_ path: String, say: @escaping (_ sentence: String) -> Void = StandardError.tell) {
    self.path = path
    self.say = say
  }

  /// The files that may run now, by their whole paths. Of each other one it is said once what to do.
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

  /// In the order of their bytes, without hidden files and leftovers.
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
