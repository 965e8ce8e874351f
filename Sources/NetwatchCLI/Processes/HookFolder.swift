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

  /// Returns the files that may run now. For each other file, it is reported once what to do.
  func files() -> [HookFile] {
    do throws(PlainError) {
      let names = try names()
      return names.compactMap { name in
        do throws(PlainError) {
          return try HookFile("\(path)/\(name)")
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

  /// Opens the folder. Whoever can create a file in it can choose what runs, also among the files of root, so the rules for
  /// files apply to the folder itself.
  private func open() throws(PlainError) -> OpaquePointer {
    do throws(TrustedPath.Fault) {
      let trusted = try TrustedPath(path)
      let number = unsafe openat(trusted.descriptor.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if number >= 0, let folder = unsafe fdopendir(number) { return unsafe folder }
      let error = SystemError.last("open")
      if number >= 0 { close(number) }
      throw .failed(path: path, error)
    } catch {
      if case .failed(_, let error) = error {
        throw PlainError("cannot read the folder of hooks '\(path)': \(error.message)")
      }
      throw PlainError("the hooks in '\(path)' do not run, because \(error)")
    }
  }

  /// Returns the names of the files in the order of their bytes, without hidden files and leftovers.
  private func names() throws(PlainError) -> [String] {
    let folder = unsafe try open()
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
