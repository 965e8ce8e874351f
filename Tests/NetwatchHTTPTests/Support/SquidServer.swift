import Foundation
import NetwatchTestSupport

/// The program squid on loopback: an HTTP proxy, with a plain port and a TLS port, that makes its connections from an
/// address of its own. Its only user is "ali" with the password "sesame".
final class SquidServer {
  /// The address from which the proxy makes its connections.
  static let address = "127.0.0.4"

  let folder: TemporaryFolder
  private let plain: LoopbackPort
  private let secure: LoopbackPort
  private let program: SpawnedServer

  var port: Int { Int(plain.number) }
  var tlsPort: Int { Int(secure.number) }

  /// - Parameters:
  ///   - certificate: The files of a chain and of its key.
  ///   - asksForPassword: Whether the proxy asks for a password. Default: false.
  init(certificate: (chain: URL, key: URL), asksForPassword: Bool = false) throws {
    folder = try TemporaryFolder()
    plain = try LoopbackPort()
    secure = try LoopbackPort()
    try folder.makeFolder("errors")
    try folder.makeFolder("run")
    try folder.write("", to: "mime.conf")
    try folder.write(
      "while read -r user password; do if [ \"$user $password\" = 'ali sesame' ]; then echo OK; else echo ERR; fi; done\n",
      to: "check")
    for (file, name) in [(certificate.chain, "chain.pem"), (certificate.key, "key.pem")] {
      try FileManager.default.copyItem(at: file, to: folder.url(name))
    }
    // If squid is started by root, it becomes another user, who has to read and write in this folder.
    for (name, mode) in [(".", 0o755), ("run", 0o777)] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file(name))
    }
    try Self.configure(folder, plain.number, secure.number, asksForPassword)
    let name = "netwatch\(plain.number)"
    program = try SpawnedServer(
      "squid", shell: "squid -n \"$1\" -N -f \"$2\" >\"$3\" 2>&1",
      [name, folder.file("squid.conf"), folder.file("output")],
      cleaning: "rm -f /dev/shm/\"$1\"-cf__*", ports: [plain.number, secure.number])
  }

  private static func configure(
    _ folder: TemporaryFolder, _ port: UInt16, _ tlsPort: UInt16, _ asksForPassword: Bool
  ) throws {
    let access =
      asksForPassword
      ? """
      auth_param basic program /bin/sh \(folder.file("check"))
      auth_param basic children 4 startup=2 idle=1
      acl known proxy_auth REQUIRED
      http_access allow known
      http_access deny all
      """ : "http_access allow all"
    try folder.write(
      """
      http_port 127.0.0.1:\(port)
      https_port 127.0.0.1:\(tlsPort) tls-cert=\(folder.file("chain.pem")) tls-key=\(folder.file("key.pem"))
      \(access)
      tcp_outgoing_address \(address)
      cache deny all
      memory_cache_shared off
      cache_mem 1 MB
      pid_filename none
      access_log stdio:\(folder.file("run/access.log"))
      cache_log \(folder.file("run/cache.log"))
      mime_table \(folder.file("mime.conf"))
      icon_directory \(folder.path)
      error_directory \(folder.file("errors"))
      coredump_dir \(folder.file("run"))
      unlinkd_program /bin/true
      pinger_enable off
      netdb_filename none
      visible_hostname squid.test
      cache_effective_user proxy
      """, to: "squid.conf")
  }
}
