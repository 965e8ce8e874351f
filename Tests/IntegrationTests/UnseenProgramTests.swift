import Glibc
import NetwatchTestSupport
import Testing

/// `--activity-ignore PROGRAM` if netwatch cannot see which program holds a connection: one warning reports that.
@Suite struct UnseenProgramTests {
  private static let options = ["--activity", "tcp", "--activity-ignore", "ssh", "--activity-ignore", "a\u{1b}b"]
  private static let warning =
    "netwatch: the TCP connections of a?b, ssh count: a user namespace or /proc hides which connections are theirs; name "
    + "a port or an address with --activity-ignore instead"

  /// Returns what `netwatch --follow` prints on standard error.
  private static func complaint(
    _ prefix: [String], _ options: [String] = options, program: String = Programs.netwatch
  ) throws -> String {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command(prefix + [program, "--follow", "--json", "--count", "1"] + options))
    #expect(result.ending == .exited(0))
    #expect(result.output.count == 1)
    return result.error
  }

  @Test func `a warning is printed in a user namespace`() throws {
    #expect(try Self.complaint(["unshare", "--user", "--map-root-user"]) == Self.warning)
    // netwatch sees the programs in its own user namespace, but these are not all that use the network.
    let shell = ["unshare", "--user", "--map-root-user", "sh", "-c", "\"$@\"; exit", "sh"]
    #expect(try Self.complaint(shell) == Self.warning)
    #expect(try Self.complaint(shell, ["--activity", "tcp", "--activity-ignore", "22"]) == "")
  }

  @Test func `no warning is printed if all programs of the network are visible`() throws {
    // Without root, the network namespace of a test belongs to a user namespace, and all programs in it are visible.
    #expect(try Self.complaint([]) == "")
    #expect(
      try Self.complaint(
        ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "\"$@\"; exit", "sh"]) == "")
  }

  /// systemd mounts /proc like this for `ProtectProc=invisible` and `ProtectProc=noaccess`.
  @Test(arguments: [("invisible", 61_184), ("noaccess", 61_185)])
  func `a warning is printed if proc hides other processes`(hiding: String, user: Int) throws {
    guard geteuid() == 0 else { return }
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let prefix = [
      "unshare", "--mount", "sh", "-c",
      "mount -t proc -o hidepid=\(hiding) proc /proc && exec setpriv --reuid=\(user) --regid=\(user) --clear-groups \"$@\"",
      "sh",
    ]
    #expect(try Self.complaint(prefix, program: program) == Self.warning)
  }

  @Test func `the service prints the warning once`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    let service = try ChildProcess(
      namespace.command(["unshare", "--user", "--map-root-user", Programs.netwatch, "serve"] + Self.options),
      environment: ["NETWATCH_SOCKET=\(folder.file("s"))"])
    let client = try ServiceClient(folder.file("s"))
    _ = try client.next()
    let command = namespace.command([Programs.netwatch, "--format", "text", "-v"] + Self.options)
    let status = try ChildProcess.run(command, environment: ["NETWATCH_SOCKET=\(folder.file("s"))"])
    #expect(status.error == "")
    service.signal(SIGTERM)
    #expect(try service.wait() == .exited(0))
    #expect(try service.errorText() == Self.warning)
  }
}
