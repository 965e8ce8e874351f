import Netwatch
import NetwatchEventLoop

/// The folder of `--hooks`, whose executable files run for each line, in the order of their names.
///
/// The folder is read again for each line, so a new file runs from the next line on. Anybody who can change a hook, or a link
/// that leads to it, has the rights of the user who runs netwatch. So the files are checked again for each line, before they
/// run.
final class HookFolder {
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

  /// Returns the names of the files. Whoever can create a file in the folder can choose what runs, also among the files of root,
  /// so the rules for files apply to the folder itself.
  private func names() throws(PlainError) -> [String] {
    do throws(TrustedPath.Fault) {
      return try TrustedPath(path).fileNames()
    } catch {
      if case .failed(_, let error) = error {
        throw PlainError("cannot read the folder of hooks '\(path)': \(error.message)")
      }
      throw PlainError("the hooks in '\(path)' do not run, because \(error)")
    }
  }
}
