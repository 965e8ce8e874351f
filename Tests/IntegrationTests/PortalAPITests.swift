import Foundation
import NetwatchTestSupport
import Testing

/// The portal API of a network (RFC 8908): `--portal-api`, `netwatch open` and the library, with nginx, its own authority, and a name
/// server of the network.
@Suite struct PortalAPITests {
  /// A network whose router has a login page, and a machine in it that trusts the authority of the portal's certificate.
  final class Portal {
    let networks: TwoNetworks
    let folder: TemporaryFolder
    private let server: Nginx
    private let names: ChildProcess

    init() throws {
      networks = try TwoNetworks()
      folder = try TemporaryFolder()
      for program in ["openssl", "dnsmasq"] { try requireProgram(program) }
      let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9"
      let script = """
        cd '\(folder.path)' && exec 2>&1
        openssl req -x509 \(key) -keyout root.key -out root.pem -subj /CN=root -addext basicConstraints=critical,CA:TRUE &&
        echo subjectAltName=DNS:portal.example >names &&
        openssl req \(key) -keyout leaf.key -out leaf.csr -subj /CN=leaf &&
        openssl x509 -req -in leaf.csr -CA root.pem -CAkey root.key -days 9 -extfile names -out leaf.pem && chmod 644 *
        """
      let result = try ChildProcess.run(["sh", "-c", script])
      guard result.ending == .exited(0) else { throw TestFailure("\(result.output)") }
      let cookie = "add_header Set-Cookie secret=1;"
      let answer = "alias \(folder.file("answer"));"
      server = try Nginx(
        in: networks.far, folder, port: 443,
        log: "$scheme $request_uri accept=$http_accept cookie=$http_cookie authorization=$http_authorization $msec",
        servers: """
          server {
            listen 443 ssl; ssl_certificate \(folder.file("leaf.pem")); ssl_certificate_key \(folder.file("leaf.key"));
            location = /api { types {} default_type application/captive+json; \(answer) }
            location = /plain { types {} default_type application/json; \(answer) }
            location = /from4 { \(cookie) return 302 /from3; }
            location = /from3 { \(cookie) return 301 https://portal.example/from2; }
            location = /from2 { \(cookie) return 307 /from1; }
            location = /from1 { \(cookie) return 308 api; }
            location = /loop { return 302 /loop; }
            location = /to-http { return 302 http://portal.example/api; }
            location = /to-other { return 302 https://other.example/api; }
            location = /to-login { return 302 https://user:password@portal.example/api; }
            location = /error { return 500; }
          }
          server {
            listen 80;
            location = /api { types {} default_type application/captive+json; \(answer) }
            location = /probe { if (-f \(folder.file("online"))) { return 204; } return 302 http://10.0.0.2/login; }
          }
          """)
      names = try ChildProcess(
        networks.far.command([
          "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--pid-file=", "--user=root", "--group=root",
          "--no-resolv",
          "--no-hosts", "--bind-interfaces", "--listen-address=10.0.0.2", "--listen-address=fd00::2",
          "--address=/portal.example/10.0.0.2", "--address=/other.example/10.0.0.2",
          "--address=/loop.example/127.0.0.1",
          "--address=/own.example/10.0.0.1",
        ]))
      try networks.far.run("until ss -Hlun | grep -q 'fd00::2.*:53'; do sleep 0.02; done")
    }

    /// Sets the answer of the API.
    func answer(_ json: String) throws { try folder.write(json, to: "answer") }

    /// Returns the words of a command that runs in the machine's network.
    ///
    /// - Parameter more: Further commands of the shell that run before. Default: none.
    func command(_ words: [String], after more: String = ":") -> [String] {
      networks.near.command(
        [
          "unshare", "--mount", "sh", "-c",
          """
          mount -t tmpfs tmpfs /etc/ssl/certs && cp '\(folder.file("root.pem"))' /etc/ssl/certs/ca-certificates.crt &&
          \(more) && exec "$0" "$@"
          """,
        ] + words)
    }

    func follow(_ options: String...) throws -> Follow {
      try Follow(ChildProcess(command([Programs.netwatch, "--follow", "--json", "--no-service"] + options)))
    }

    /// The number of probes.
    var probes: Int { server.log.count { $0.hasPrefix("http /probe ") } }
    /// The requests with https, one line for each.
    var requests: [String] { server.log.filter { $0.hasPrefix("https ") } }

    func advertise(_ uri: String = Portal.address) throws {
      try networks.far.advertise(from: "v1", lifetime: 600, portal: uri, options: "server=fd00::2")
    }

    static let address = "https://portal.example/api"
  }

  private static let captive =
    #"{"captive":true,"user-portal-url":"https://portal.example/login","venue-info-url":"https://portal.example/train"}"#

  private func portal(_ line: Line) -> [String: Any]? {
    (line.object["reachability"] as? [String: Any])?["captive_portal"] as? [String: Any]
  }

  private func internet(_ line: Line) -> String? {
    (line.object["reachability"] as? [String: Any])?["internet"] as? String
  }

  /// Reads lines until one is as wanted.
  private func line(of follow: Follow, where isWanted: (Line) -> Bool) throws -> Line {
    while true {
      let line = try follow.next()
      if isWanted(line) { return line }
    }
  }

  // MARK: Lines

  @Test func `the login page is in the line, and after the login the internet is there within a second`() throws {
    let portal = try Portal()
    try portal.answer(Self.captive)
    // The address that the first advertisement leads to shall not change the path later.
    try portal.networks.far.advertise(from: "v1", lifetime: 600)
    try portal.networks.near.run("until ip -6 addr show dev v0 | grep -q 2a02:; do sleep 0.02; done")
    try portal.networks.near.waitUntilAddressesAreChecked()
    let follow = try portal.follow("--portal-api", "--probe", "http://10.0.0.2/probe")
    let quiet = try portal.follow("--announced")
    let text = try ChildProcess(
      portal.command([Programs.netwatch, "--follow", "--no-service", "--portal-api", "--format", "text"]))
    _ = try text.nextLine()
    _ = try line(of: follow) { internet($0) == "portal" }
    #expect(portal.requests == [])
    try portal.advertise()
    let told = try line(of: follow) { self.portal($0) != nil }
    #expect(told.reason == "announcement_changed")
    #expect(self.portal(told)?["captive"] as? Bool == true)
    #expect(self.portal(told)?["user_portal_url"] as? String == "https://portal.example/login")
    #expect(self.portal(told)?["venue_info_url"] as? String == "https://portal.example/train")
    while let line = try text.nextLine(), !line.contains("login needed at https://portal.example/login") {}
    // Somebody logs in just after the probe has been repeated, and the API is asked next.
    let probes = portal.probes
    try eventually(portal.probes) { $0 > probes }
    try portal.folder.write("", to: "online")
    try portal.answer(#"{"captive":false,"seconds-remaining":250,"bytes-remaining":120000000}"#)
    let free = try line(of: follow) { self.portal($0)?["captive"] as? Bool == false }
    #expect(250 - 20...250 ~= self.portal(free)?["seconds_remaining"] as? Int ?? 0)
    #expect(self.portal(free)?["bytes_remaining"] as? Int == 120_000_000)
    let full = internet(free) == "full" ? free : try line(of: follow) { internet($0) == "full" }
    let delay = (full.monotonicNanoseconds ?? 0) - (free.monotonicNanoseconds ?? 0)
    print("after the login: full after \(delay / 1_000_000) ms")
    #expect(delay < 1_000_000_000)
    while let line = try text.nextLine(), !line.contains("no login needed, 4 min left, 120 MB left") {}
    // Two programs asked, each at most every 10 seconds, without anything that identifies somebody.
    let requests = portal.requests
    #expect(requests.allSatisfy { $0.contains("/api accept=application/captive+json cookie=- authorization=- ") })
    #expect(2...6 ~= requests.count)
    // Who only listens asks nothing, and gets no answer.
    try portal.networks.near.run("ip addr add 10.0.0.9/24 dev v0")
    _ = try line(of: quiet) { $0.reason == "announcement_changed" || $0.reason == "address_changed" }
    #expect(quiet.lines.allSatisfy { self.portal($0) == nil })
  }

  @Test func `the library asks as well`() throws {
    let portal = try Portal()
    try portal.answer(Self.captive)
    let probe = try ChildProcess(portal.command([Programs.httpProbe, "portal", "monitor"]))
    #expect(try probe.nextLine() == "initial -")
    try portal.advertise()
    while let line = try probe.nextLine(), line != "announcement_changed captive https://portal.example/login" {}
  }

  // MARK: What is asked

  @Test(arguments: [
    ("https://portal.example/api", true), ("https://portal.example/from3", true),
    ("https://portal.example/from4", false),
    ("https://portal.example/loop", false), ("https://portal.example/to-http", false),
    ("https://portal.example/to-other", false), ("https://portal.example/to-login", false),
    ("https://portal.example/plain", false), ("https://portal.example/error", false),
    ("https://other.example/api", false),
    ("https://loop.example/api", false), ("https://own.example/api", false), ("https://127.0.0.1/api", false),
    ("https://[::1]/api", false), ("https://[::ffff:127.0.0.1]/api", false), ("https://10.0.0.1/api", false),
    ("https://0.0.0.0/api", false), ("https://2130706433/api", false), ("https://localhost/api", false),
    ("https://10.0.0.2/api", false), ("https://none.example/api", false),
  ])
  func `only a trusted server of the network is asked, by at most three redirects`(_ url: String, _ answers: Bool)
    throws
  {
    let portal = try Portal()
    try portal.answer(Self.captive)
    // A server on this machine tells who connects to it.
    let own = try ChildProcess(
      portal.networks.near.command([
        "python3", "-u", "-c",
        """
        import socket
        server = socket.create_server(("", 443), family=socket.AF_INET6, dualstack_ipv6=True)
        print("ready")
        while True:
            server.accept()
            print("asked")
        """,
      ]))
    #expect(try own.nextLine() == "ready")
    let result = try ChildProcess.run(
      portal.command([
        "\(Programs.folder)/netwatch-http", "portal", "--interface=v0", "--name-server=10.0.0.2", "--", url,
      ]), environment: ["https_proxy=http://10.0.0.2:9", "ALL_PROXY=http://10.0.0.2:9"])
    #expect(result.ending == .exited(0))
    let line = result.output.first ?? ""
    #expect(line.hasPrefix(answers ? #"{"captive":true,"# : "no answer: "), "\(line) \(result.error)")
    #expect(portal.requests.allSatisfy { $0.contains(" cookie=- authorization=- ") })
    #expect(portal.requests.count <= 4)
    own.signal(SIGKILL)
    #expect(try own.nextLine() == nil)
  }

  @Test func `everything goes over the link that has given the address`() throws {
    let portal = try Portal()
    try portal.answer(Self.captive)
    // The other link leads nowhere, and the routes would lead to the portal.
    try portal.networks.near.configure(
      "link add w0 type veth peer name w1", "link set w1 up", "link set w0 up", "addr add 10.7.0.1/24 dev w0")
    let words = ["\(Programs.folder)/netwatch-http", "portal", "--interface=w0", "--", Portal.address]
    for servers in [[], ["--name-server=10.0.0.2"]] {
      let result = try ChildProcess.run(portal.command(Array(words[0...2] + servers + words[3...])))
      #expect(result.output.first?.hasPrefix("no answer: ") == true)
    }
    let none = try ChildProcess.run(
      portal.command([words[0], "portal", "--interface=none0", "--name-server=10.0.0.2", "--", Portal.address]))
    #expect(none.output == ["no answer: nothing can be bound to the interface 'none0': No such device"])
    let unnamed = try ChildProcess.run(
      portal.command([words[0], "portal", "--name-server=10.0.0.2", "--", Portal.address]))
    #expect(unnamed.output == ["no answer: nothing can be bound to the interface '': No such device"])
    #expect(portal.requests == [])
  }

  @Test func `a thousand hostile answers open nothing`() throws {
    let portal = try Portal()
    let server = try ChildProcess(
      portal.networks.far.command([
        "python3", "-u", "-c", Self.hostileServer, portal.folder.file("leaf.pem"), portal.folder.file("leaf.key"),
      ]))
    #expect(try server.nextLine() == "ready")
    let result = try ChildProcess.run(
      portal.command([
        Programs.httpProbe, "portal", "ask", "v0", "10.0.0.2", "https://portal.example:8443/#", "1000",
      ]))
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(result.output.count == 1_000)
    let pages = result.output.filter { !$0.hasSuffix("-") }
    #expect(pages == [])
    // The server has been asked, and some of what it says is an answer without a page.
    #expect(result.output.contains("captive -"))
  }

  /// A server whose answers are all wrong in some way, by the number in the path.
  private static let hostileServer = #"""
    import http.server, json, random, ssl, sys, time
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *words): pass
        def do_GET(self):
            try: self.answer()
            except OSError: pass
            self.close_connection = True
        def answer(self):
            number = int("".join(c for c in self.path if c.isdigit()) or "0")
            dice = random.Random(number)
            page = dice.choice(["http://portal.example/", "javascript:alert(1)", "file:///etc/passwd", "https://", "//x", "",
                                "https://a@portal.example/", "https://portal.example/\u001b]0;x\u0007", "https://[/", 7, None, [], {},
                                "https://" + "a" * 9000, "data:text/html,x", "https:portal.example", "HTTP://portal.example/"])
            good = json.dumps({"captive": True, "user-portal-url": page, "venue-info-url": page,
                               "seconds-remaining": dice.choice([-1, 2**70, "x", 1.5, None])}).encode()
            safe = json.dumps({"captive": True, "user-portal-url": "https://portal.example/x"}).encode()
            kind = dice.randrange(14)
            if number < 3: kind = 20
            types = {"Content-Type": "application/captive+json"}
            def send(status, headers, body, length=None):
                self.send_response(status)
                for name, value in headers.items(): self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)
            if kind < 4: send(200, types, good)
            elif kind == 4: send(200, {"Content-Type": dice.choice(["text/html", "application/json", "application/captive+jsonx", ""])}, safe)
            elif kind == 5: send(dice.choice([201, 204, 206, 404, 500, 511]), types, b"" if dice.random() < 0.1 else safe)
            elif kind == 6: send(dice.choice([301, 302, 303, 307, 308]), {"Location": dice.choice([
                "http://portal.example:8443/1", "/%d" % number, "https://other.example:8443/1", "https://127.0.0.1/", "ftp://x/",
                "https://portal.example@other.example/", "\\", "https://[", "", "https://localhost:8443/"])}, b"")
            elif kind == 7: send(200, types, safe[:dice.randrange(len(safe))])
            elif kind == 8: send(200, types, bytes(dice.randrange(256) for _ in range(dice.randrange(400))))
            elif kind == 9: send(200, types, safe, length=len(safe) + 1 + dice.randrange(9))
            elif kind == 10: send(200, types, safe[:-1] + b"," * 70000 + b"}")
            elif kind == 11: send(200, types, b"[" * dice.randrange(1, 60000))
            elif kind == 12: send(200, dict(types, **{"Content-Encoding": "gzip"}), safe)
            elif kind == 13: self.wfile.write(bytes(dice.randrange(256) for _ in range(dice.randrange(1, 400))))
            else:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/captive+json\r\n\r\n")
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.1)
    server = http.server.ThreadingHTTPServer(("10.0.0.2", 8443), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("ready")
    server.serve_forever()
    """#

  // MARK: Commands that answer once

  /// Commands that give the machine the state file that systemd-networkd 254 and later write, with the portal of a DHCP lease or of an
  /// advertisement, and the name servers of the link.
  private static func networkd(_ more: String = "") -> String {
    """
    mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/netif/links && index=$(ip -o link show v0 | cut -d: -f1) &&
    printf '%s\\n' '# This is private data. Do not parse.' ADMIN_STATE=configured OPER_STATE=routable \
      CAPTIVE_PORTAL=\(Portal.address) DNS=10.0.0.2 \(more) >/run/systemd/netif/links/$index
    """
  }

  @Test func `status waits for the answer, and says how long it lasts`() throws {
    let portal = try Portal()
    try portal.answer(#"{"captive":false,"seconds-remaining":7210}"#)
    let status = ["status", "--no-service", "--portal-api"]
    let json = try ChildProcess.run(
      portal.command([Programs.netwatch] + status + ["--json"], after: Self.networkd()))
    let line = try Line(json.output.first ?? "")
    #expect(self.portal(line)?["captive"] as? Bool == false, "\(json.error)")
    #expect(7_190...7_210 ~= self.portal(line)?["seconds_remaining"] as? Int ?? 0)
    let text = try ChildProcess.run(portal.command([Programs.netwatch] + status, after: Self.networkd()))
    #expect(text.output.contains { $0.contains("no login needed, 2 h left") }, "\(text.output)")
    // A network that names nothing, and one whose server does not answer, are waited for no longer than necessary.
    #expect(try ChildProcess.run(portal.command([Programs.netwatch] + status)).ending == .exited(0))
    try portal.folder.remove("answer")
    let silent = try ChildProcess.run(portal.command([Programs.netwatch] + status + ["--json"], after: Self.networkd()))
    #expect(self.portal(try Line(silent.output.first ?? "")) == nil)
    #expect(silent.error.contains("--portal-api: no answer: the status is 404"))
  }

  @Test func `open opens the page that the network names, and a rule may ask for it`() throws {
    let portal = try Portal()
    try portal.folder.makeFolder("bin")
    let opener = portal.folder.file("bin/xdg-open")
    let script = "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >'\(portal.folder.file("opened"))'\n"
    let writer = try ChildProcess.run([
      "sh", "-c", "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"", "sh", script, opener,
    ])
    #expect(writer.ending == .exited(0))
    func open(_ options: String..., after more: String = ":") throws -> (
      ending: ChildProcess.Ending, output: [String], error: String
    ) {
      try ChildProcess.run(
        portal.command([Programs.netwatch, "open"] + options, after: "\(Self.networkd()) && \(more)"),
        environment: ["PATH=\(portal.folder.file("bin")):/usr/sbin:/usr/bin:/sbin:/bin"])
    }
    try portal.answer(Self.captive)
    var result = try open("--portal-api")
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(result.output == ["The login page is at https://portal.example/login"])
    #expect(portal.folder.text(of: "opened") == "1\nhttps://portal.example/login\n")
    try portal.folder.remove("opened")
    result = try open(
      after:
        "mkdir -p /etc/netwatch && mount -t tmpfs -o mode=755 tmpfs /etc/netwatch && echo portal-api >/etc/netwatch/rules"
    )
    #expect(result.ending == .exited(0), "\(result.error)")
    #expect(portal.folder.text(of: "opened") == "1\nhttps://portal.example/login\n")
    try portal.folder.remove("opened")
    for (answer, words) in [
      (
        #"{"captive":true,"user-portal-url":"http://portal.example/"}"#,
        "the network asks for a login, but names no page that can be opened"
      ),
      (
        #"{"captive":false,"user-portal-url":"https://portal.example/"}"#,
        "there is no login page: the network says that no login is needed"
      ),
      ("<html>", "no login page is known: the server that the network names has not answered"),
    ] {
      try portal.answer(answer)
      result = try open("--portal-api")
      #expect(result.ending == .exited(1))
      #expect(result.output == [words])
    }
    #expect(!FileManager.default.fileExists(atPath: portal.folder.file("opened")))
    result = try ChildProcess.run([Programs.netwatch, "open", "--no-rules"])
    #expect(result.ending == .exited(64))
    #expect(
      result.error.contains(
        "open needs a server to ask; add --probe URL, or --portal-api for the one that the network names."))
  }
}
