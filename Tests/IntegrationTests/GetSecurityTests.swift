import Foundation
import NetwatchTestSupport
import Testing

/// Tests of which servers `netwatch get` trusts, and of what it keeps secret.
@Suite struct GetSecurityTests {
  private struct Certificates {
    private let files: ServerCertificates
    var folder: TemporaryFolder { files.folder }

    init() throws { files = try ServerCertificates() }

    func server(_ more: String = "") throws -> WebServer {
      let server = try WebServer(more, certificate: (folder.file("leaf.pem"), folder.file("leaf.key")))
      try server.serve("it", text: "it")
      return server
    }

    /// Runs `netwatch get` on a machine that trusts the root certificate.
    ///
    /// - Parameter inFolder: Whether the root certificate is in the folder of certificates, with the unrelated one in
    ///   the bundle. Default: the root certificate is in the bundle.
    func get(_ server: WebServer, _ arguments: [String], inFolder: Bool = false) throws -> (
      ending: ChildProcess.Ending, output: [String], error: String
    ) {
      let (root, other) = (folder.file("root.pem"), folder.file("other.pem"))
      let script = """
        mount -t tmpfs tmpfs /etc/ssl/certs &&
        cp \(inFolder ? other : root) /etc/ssl/certs/ca-certificates.crt &&
        \(inFolder ? "cp \(root) /etc/ssl/certs/$(openssl x509 -noout -hash -in \(root)).0 &&" : "")
        exec "$0" get "$@"
        """
      return try ChildProcess.run(
        server.command(["unshare", "--mount", "sh", "-c", script, Programs.netwatch] + arguments))
    }
  }

  private static let url = "https://127.0.0.1/it"

  @Test(arguments: [["leaf.pem"], ["leaf.der"], ["root.pem"], ["other.pem", "leaf.pem"]])
  func `a server with a pinned key is asked`(pins: [String]) throws {
    let certificates = try Certificates()
    let server = try certificates.server()
    let options = pins.flatMap { ["--pin", certificates.folder.file($0)] }
    let result = try certificates.get(server, [Self.url] + options)
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(server.isSame("it", as: "it"))
  }

  @Test(arguments: [true, false])
  func `an authority that stands in the system's folder alone is trusted`(inFolder: Bool) throws {
    let certificates = try Certificates()
    let server = try certificates.server()
    #expect(try certificates.get(server, [Self.url], inFolder: inFolder).ending == .exited(0))
    #expect(server.isSame("it", as: "it"))
  }

  @Test func `a server with another key is asked nothing`() throws {
    let certificates = try Certificates()
    let server = try certificates.server()
    let result = try certificates.get(
      server, [Self.url, "--pin", certificates.folder.file("other.pem"), "--retry", "3"])
    #expect(result.ending == .exited(1))
    let start = "netwatch: 127.0.0.1 is not trusted, so no request was sent: no pin is in the chain of the certificate "
    #expect(result.error.hasPrefix(start), "\(result.error)")
    #expect(server.answers == [])
    #expect(try server.home.names == [])
  }

  @Test func `a server that nobody vouches for is asked nothing, not even with its own pin`() throws {
    let certificates = try Certificates()
    let server = try certificates.server()
    for pins in [[], ["--pin", certificates.folder.file("leaf.pem")]] {
      let result = try ChildProcess.run(server.command([Programs.netwatch, "get", Self.url] + pins))
      #expect(result.ending == .exited(1))
      #expect(
        result.error.hasPrefix("netwatch: 127.0.0.1 is not trusted, so no request was sent: the certificate "),
        "\(result.error)")
    }
    #expect(server.answers == [])
    #expect(try server.home.names == [])
  }

  @Test func `a pin holds for where the server sends to, too`() throws {
    let certificates = try Certificates()
    let server = try certificates.server("location = /far { return 302 http://127.0.0.1/it; }")
    let pin = ["--pin", certificates.folder.file("leaf.pem")]
    let result = try certificates.get(server, ["https://127.0.0.1/far"] + pin)
    #expect(result.ending == .exited(1))
    #expect(
      result.error
        == "netwatch: 127.0.0.1 redirects to a URL without https, so --pin cannot check the server")
    #expect(server.answers.map { $0.split(separator: " ")[1] } == ["/far"])
    #expect(try certificates.get(server, ["https://127.0.0.1/far"]).ending == .exited(0))
  }

  @Test func `a pin that cannot be read is said before anything is asked`() throws {
    let certificates = try Certificates()
    let server = try certificates.server()
    for (pin, words) in [
      ("nowhere", "No such file or directory"), ("~root", "No such file or directory"),
      (certificates.folder.file("leaf.key"), "there is none"),
    ] {
      let result = try server.get(Self.url, "--pin", pin)
      #expect(result.ending == .exited(1))
      #expect(result.error == "netwatch: no certificate to pin in \(pin): \(words)")
    }
    #expect(server.answers == [])
  }

  // MARK: Secrets

  @Test func `a user and a password in the URL open the door, and are never shown or kept`() throws {
    let server = try WebServer(WebServer.holding)
    try server.serve("it", bytes: 2_000_000)
    let child = try server.begin("http://ali:open%20sesame@127.0.0.1/private/it", "--retry", "9")
    try server.wait(for: "it.netwatch-part", bytes: 1)
    let known = try String(contentsOfFile: server.home.file("it.netwatch-part.json"), encoding: .utf8)
    #expect(known.contains("\"url\":\"http://127.0.0.1/private/it\""), "\(known)")
    #expect(!known.contains("sesame"))
    try server.restart()
    #expect(try child.wait() == .exited(0))
    #expect(server.isSame("it", as: "it"))

    let wrong = try server.get("http://ali:s%40lt@127.0.0.1/private/it", "-o", "other")
    #expect(wrong.ending == .exited(1))
    #expect(wrong.error == "netwatch: the server answers 401 Unauthorized")
  }

  @Test(arguments: [
    ("", "Give the URL"), ("example.org/it", "write https:// or http:// before it"), ("ftp://s3cret@x/it", "https://"),
    ("file:///etc/passwd", "https://"), ("http://", "no host"), ("http:///it", "no host"),
    ("https://user:s3cret@/it", "no host"), ("http://x:port/it", "The port"), ("http://x:0/it", "The port"),
    ("http://x:65536/it", "The port"), ("http://a b/it", "no host"), ("http://x/a\nb", "control character"),
    ("http://[::1/it", "no host"), ("http://a%zz:s3cret@x/it", "not encoded"), ("http://x", "--output"),
    ("http://x/", "--output"), ("http://x/folder/?it", "--output"), ("http://x/.bashrc", "--output"),
    ("http://x/..", "--output"), ("http://x/a%2Fb", "--output"), ("http://x/%00", "--output"),
    ("http://x/a%0Ab", "--output"), ("http://x/%2e%2e", "--output"), ("http://x/%ff", "--output"),
    ("http://x/%E2%80%AEtxt.exe", "--output"),
  ])
  func `a URL that cannot be got is told with what to do`(url: String, hint: String) throws {
    let result = try ChildProcess.run([Programs.netwatch, "get", url])
    #expect(result.ending == .exited(64))
    #expect(result.error.contains(hint), "\(result.error)")
    #expect(!result.error.contains("s3cret"))
  }

  @Test(arguments: [
    (["http://x/it", "--pin", "root.pem"], "--pin needs a URL with https://"), (["http://x/it", "-o", ""], "--output"),
    (["http://x/it", "-H", "s3cret"], "Name: value"), (["http://x/it", "-H", "a b: s3cret"], "letters"),
    (["http://x/it", "-H", "a: s3cret\r\nb: c"], "control character"),
    (["http://x/it", "-H", "Range: bytes=0-s3cret"], "leave out Range"),
    (["http://x/it", "--retry", "-1"], "from 0 to 1000"),
    (["http://x/it", "--retry", "1001"], "from 0 to 1000"), (["http://x/it", "--json"], "Unknown option '--json'"),
    (["http://x/it", "-f"], "Unknown option '-f'"), ([], "url"),
  ])
  func `wrong usage is told with what to do`(arguments: [String], hint: String) throws {
    let result = try ChildProcess.run([Programs.netwatch, "get"] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.error.contains(hint), "\(result.error)")
    #expect(!result.error.contains("s3cret"))
  }
}
