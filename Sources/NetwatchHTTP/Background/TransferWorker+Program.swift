import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// How the worker's program is found and started.
extension TransferWorker {
  /// The word after which `netwatch-http` is the worker.
  package static let command = "work"
  /// The option with which it waits until no other worker runs, for a unit that would be started again and again.
  package static let waitOption = "--wait"
  /// The option with which it starts itself in the background.
  package static let startOption = "--start"

  /// Starts the worker, unless it runs.
  ///
  /// - Parameter program: The path of `netwatch-http`. Default: nil, the one beside this program, or of the installed netwatch.
  /// - Throws: `fileFailed` if it is not there, or cannot be started.
  package static func start(_ program: String? = nil) throws(HTTPError) {
    let root = try TransferSpool.root()
    try markWanted(root)
    guard !isRunning(root) else { return }
    guard let program = program ?? find() else {
      throw HTTPError(
        .fileFailed, "start the transfers", code: ENOENT, domain: .system,
        message: "netwatch-http is not here; install netwatch's package, or name the program")
    }
    do throws(SystemError) {
      let child = try ChildProcess.spawn(program, [command, startOption], descriptors: [], closesOthers: true)
      // It only starts another process. Other code of the app may wait for it too.
      let ending = ChildProcess.waitForEnd(of: child)
      guard ending ?? .exited(0) == .exited(0) else { throw SystemError(operation: "start", code: EIO) }
    } catch {
      throw HTTPError(
        .fileFailed, "start \(program)", code: error.code, domain: .system, message: error.message)
    }
  }

  /// The path of the file that is there while something is left to do.
  static func wantedPath(_ root: String) -> String { "\(root)/wanted.mark" }

  /// Makes that file, for the unit that starts the worker after a restart of the machine.
  static func markWanted(_ root: String) throws(HTTPError) {
    let number = unsafe open(wantedPath(root), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else {
      if errno == EEXIST { return }
      throw HTTPError(file: wantedPath(root), "open")
    }
    close(number)
    // The unit reads it after a loss of power, too.
    OpenFile.flushFolder(of: wantedPath(root))
  }

  /// Waits until no worker runs. A signal that ends programs ends this one.
  package static func waitForOthers() throws(HTTPError) {
    let root = try TransferSpool.root()
    // Without the folder, no other one runs, and nothing is left to do.
    guard unsafe access(root, F_OK) == 0 else { return }
    let lock = try LockFile("\(root)/worker.lock")
    try lock.wait()
    lock.giveBack()
  }

  /// Whether a worker runs.
  static func isRunning(_ root: String) -> Bool { (try? LockFile("\(root)/worker.lock"))?.isTaken ?? false }

  private static func find() -> String? {
    let places = [UserFolder.ofThisProgram].compactMap(\.self) + UserFolder.programs + ["/usr/bin"]
    return places.flatMap { ["\($0)/netwatch-http", "\($0)/../lib/netwatch/netwatch-http"] }
      .first { (path: String) in unsafe access(path, X_OK) == 0 }
  }

  /// Starts the worker in the background, and returns: by the user's systemd where one runs, otherwise in a session of its own. The
  /// worker gets a clean environment, and no open files. When this call returns, the worker has its lock, so that the next caller
  /// starts no second one.
  ///
  /// - Throws: A `SystemError` if it cannot be started.
  package static func startInBackground() throws(SystemError) {
    guard let program = FileDescriptor.target(ofLink: "/proc/self/exe") else { throw .last("readlink") }
    if startBySystemd(program) { return awaitLock { false } }
    let nothing = try FileDescriptor.result(of: "open", unsafe open("/dev/null", O_RDWR | O_CLOEXEC))
    let worker = try ChildProcess.spawn(
      program, [command], environment: environment,
      descriptors: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].map { (nothing.rawValue, $0) }, closesOthers: true,
      inNewSession: true)
    awaitLock { ChildProcess.ending(of: worker) != nil }
  }

  /// Waits until a worker has the lock, or has ended, but not for long.
  private static func awaitLock(_ hasEnded: () -> Bool) {
    guard let root = try? TransferSpool.root() else { return }
    for _ in 0..<200 {
      if isRunning(root) || hasEnded() { return }
      usleep(10_000)
    }
  }

  /// The variables that the worker needs: where its files and proxies are.
  private static var environment: [String] {
    let names = [
      "HOME", "PATH", "USER", "LOGNAME", "LANG", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "NETWATCH_SOCKET", "http_proxy",
      "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]
    return names.compactMap { name in String(environment: name).map { "\(name)=\($0)" } }
  }

  /// Returns whether the user's systemd has started the worker. It then goes on after a logout, if the user may linger.
  private static func startBySystemd(_ program: String) -> Bool {
    guard let runtime = String(environment: "XDG_RUNTIME_DIR"),
      unsafe access("\(runtime)/systemd/private", F_OK) == 0,
      let systemdRun = ["/usr/bin/systemd-run", "/bin/systemd-run"].first(where: { (path: String) in
        unsafe access(path, X_OK) == 0
      }),
      let nothing = try? FileDescriptor.result(of: "open", unsafe open("/dev/null", O_RDWR | O_CLOEXEC))
    else { return false }
    // systemd-run reads the values itself. In its arguments, everybody could read the password of a proxy.
    let names = environment.compactMap { $0.split(separator: "=", maxSplits: 1).first }
      .filter { $0 != "XDG_RUNTIME_DIR" && $0 != "USER" }
    let child = try? ChildProcess.spawn(
      systemdRun,
      [
        "--user", "--quiet", "--collect", "--no-ask-password", "--unit=netwatch-transfers-now",
        "--property=Restart=on-failure", "--property=RestartSec=3",
      ] + names.map { "--setenv=\($0)" } + [program, command],
      descriptors: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].map { (nothing.rawValue, $0) }, closesOthers: true)
    return child.flatMap { ChildProcess.waitForEnd(of: $0) } == .exited(0)
  }
}
