import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A file that may run as a hook: only root and the user of this process can change or replace it, and can change the way to it.
struct HookFile {
  /// The path that was given.
  let name: String
  /// The absolute path without links, which nobody else can lead elsewhere. See ``TrustedPath``.
  let program: String

  /// Checks a file.
  ///
  /// - Throws: A `PlainError` that says what to do, if the file may not run.
  init(_ path: String) throws(PlainError) {
    let isFile: Bool
    do throws(TrustedPath.Fault) {
      let file = try TrustedPath(path)
      (program, isFile) = (file.path, file.isFile)
    } catch {
      if case .failed(_, let error) = error {
        throw PlainError("cannot look at the hook '\(path)': \(error.message)")
      }
      throw PlainError("the hook '\(path)' does not run, because \(error)")
    }
    guard isFile else {
      throw PlainError("the hook '\(path)' does not run, because it is not a file; move it elsewhere")
    }
    guard unsafe access(program, X_OK) == 0 else {
      throw PlainError("the hook '\(path)' does not run, because it is not executable; run: chmod +x '\(program)'")
    }
    name = path
  }
}

/// The folder of `--hooks`, whose executable files run for each line, in the order of their names.
///
/// The folder is read again for each line, so a new file runs from the next line on. Anybody who can change a hook, or a link
/// that leads to it, has the rights of the user who runs netwatch. So the files are checked again for each line, before they
/// run.
final class HookFolder {
  private let path: String
  private let warn: (_ sentence: String) -> Void
  /// The sentences that were reported. Each is reported once.
  private var said: Set<String> = []

  /// - Parameters:
  ///   - path: The path of the folder, which does not have to exist yet.
  ///   - warn: The closure that gets each sentence for people. Default: it writes to standard error.
  init(_ path: String, warn: @escaping (_ sentence: String) -> Void = StandardError.warn) {
    self.path = path
    self.warn = warn
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
    let sentence = error.description.sanitizedForTerminal
    if said.insert(sentence).inserted { warn(sentence) }
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

/// Ends the running hook, with all that it has started, when netwatch ends, for whatever reason, also by SIGKILL.
///
/// It is a shell that reads the number of each process group from a pipe, and an empty line when the group has ended by itself.
/// At the end of the pipe, it ends the last group.
final class HookGuard {
  private static let script = """
    trap '' TERM INT HUP QUIT
    while read -r next; do group=$next; done
    [ "$group" ] || exit
    kill -TERM "-$group"; kill -CONT "-$group"; sleep \(HookRunner.grace.components.seconds); kill -KILL "-$group"
    """
  private static let environment = ["PATH=/usr/bin:/bin:/run/current-system/sw/bin"]

  private let pipe: Pipe

  /// Starts the shell.
  init() throws(SystemError) {
    pipe = try Pipe()
    guard fcntl(pipe.write, F_SETFL, O_NONBLOCK) == 0 else { throw .last("fcntl") }
    // If somebody ends the shell, writing fails with EPIPE.
    SignalSource.discard([SIGPIPE])
    // The shell has nothing to say, and must not keep the output of netwatch open. It cannot write to this end of the pipe.
    _ = try ChildProcess.spawn(
      "/bin/sh", ["-c", Self.script, "netwatch-hook-guard"], environment: Self.environment,
      descriptors: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].map { (pipe.read, $0) }, closesOthers: true)
    pipe.closeRead()
  }

  /// Starts a process by `spawn`, which leads a group. The group ends with netwatch until ``release()`` is called.
  func start(_ spawn: () throws(SystemError) -> pid_t) throws(SystemError) -> pid_t {
    // A signal that ends netwatch has to wait until the shell knows the group. Only SIGKILL does not wait.
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let group = try spawn()
    warn("\(group)")
    return group
  }

  /// Leaves the group alone from now on.
  func release() { warn("") }

  private func warn(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = unsafe write(pipe.write, bytes, bytes.count)
  }
}
