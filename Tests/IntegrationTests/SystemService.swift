import Glibc
import NetwatchTestSupport
import Testing

/// The machine's service, in a network and a /run of its own.
final class SystemService {
  static let path = "/run/netwatch/netwatch.sock"

  let folder: TemporaryFolder
  let namespace: NetworkNamespace
  let process: ChildProcess
  private let sandbox: String
  private let netwatch: String

  /// - Parameters:
  ///   - environment: added to the service's own.
  ///   - wrapper: a command that runs the service, such as `nice`.
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

  /// The path of the socket for root, from outside.
  var rootPath: String { "/proc/\(process.pid)/root\(Self.path)" }

  func rootClient() throws -> ServiceClient { try ServiceClient(rootPath) }

  /// Runs a program as another user where the socket is.
  func run(as user: Int, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(
      ["nsenter", "--target", "\(process.pid)", "--mount", "--net", "setpriv", "--reuid=\(user)", "--regid=\(user)"]
        + ["--clear-groups", "--"] + arguments, environment: ["NETWATCH_SOCKET="])
  }

  /// A client of another user, which passes on what it is told.
  func client(of user: Int) throws -> ChildProcess { try run(as: user, [sandbox, "connect", Self.path]) }

  func netwatch(as user: Int, _ arguments: String...) throws -> ChildProcess {
    try run(as: user, [netwatch] + arguments)
  }
}
