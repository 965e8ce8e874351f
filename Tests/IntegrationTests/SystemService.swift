import Glibc
import NetwatchTestSupport
import Testing

/// The service of the machine, with a network namespace and a /run of its own.
final class SystemService {
  static let path = "/run/netwatch/netwatch.sock"

  let folder: TemporaryFolder
  let namespace: NetworkNamespace
  let process: ChildProcess
  private let sandbox: String
  private let netwatch: String

  /// - Parameters:
  ///   - arguments: The arguments that follow `serve`.
  ///   - environment: Variables that are added to the environment of the service.
  ///   - wrapper: A command that runs the service, such as `nice`.
  init(_ arguments: String..., environment: [String] = [], wrapper: [String] = []) throws {
    folder = try TemporaryFolder()
    namespace = try .online()
    sandbox = try folder.install(Programs.sandbox)
    netwatch = try folder.install(Programs.netwatch)
    let command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /run && exec \"$@\"", "sh"]
    process = try ChildProcess(
      namespace.command(command + wrapper + [Programs.netwatch, "serve"] + arguments),
      environment: ["NETWATCH_SOCKET="] + environment)
    _ = try rootClient().next()
  }

  /// The path by which root reaches the socket from outside the mount namespace of the service.
  var rootPath: String { "/proc/\(process.pid)/root\(Self.path)" }

  func rootClient() throws -> ServiceClient { try ServiceClient(rootPath) }

  /// Starts a program as another user, in the namespaces of the service.
  func run(as user: Int, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(
      ["nsenter", "--target", "\(process.pid)", "--mount", "--net", "setpriv", "--reuid=\(user)", "--regid=\(user)"]
        + ["--clear-groups", "--"] + arguments, environment: ["NETWATCH_SOCKET="])
  }

  /// Starts a client that runs as another user. The client passes its standard input on to the service.
  func client(of user: Int) throws -> ChildProcess { try run(as: user, [sandbox, "connect", Self.path]) }

  func netwatch(as user: Int, _ arguments: String...) throws -> ChildProcess {
    try run(as: user, [netwatch] + arguments)
  }
}
