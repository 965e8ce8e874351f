import Foundation
import NetwatchHTTP
import NetwatchTestSupport

/// A certificate authority that issues the certificates of tests, with the program `openssl`.
struct CertificateAuthority {
  struct Pair {
    let certificate: URL
    let key: URL
  }

  let folder: TemporaryFolder
  let root: Pair

  /// - Parameter name: The common name of the root. Two authorities may have the same one.
  init(name: String = "Test Root") throws {
    folder = try TemporaryFolder()
    root = Pair(certificate: folder.url("root.pem"), key: folder.url("root.key"))
    try openssl(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout root.key -out root.pem "
        + "-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign",
      subject: name)
    try folder.write("", to: "index.txt")
    try folder.write(
      """
      [ca]
      default_ca = it
      [it]
      database = index.txt
      new_certs_dir = .
      rand_serial = yes
      default_md = sha256
      policy = any
      unique_subject = no
      [any]
      commonName = supplied
      """, to: "ca.cnf")
  }

  @discardableResult
  func openssl(_ arguments: String, subject: String? = nil) throws -> String {
    let words = arguments.split(separator: " ").map(String.init)
    return try Programs.run(["openssl"] + words + (subject.map { ["-subj", "/CN=\($0)"] } ?? []), in: folder.url)
  }

  /// Issues a certificate for a server, or for an authority below this one.
  ///
  /// - Parameters:
  ///   - name: The common name, which is also the name of the files.
  ///   - names: The alternative names, as `DNS:…` and `IP:…`. Default: 127.0.0.1 and localhost.
  ///   - issuer: The authority that signs the certificate. Default: the root.
  ///   - isAuthority: Whether the certificate is that of an authority. It then has no alternative names.
  ///   - key: The file of an existing key. Default: a new key.
  ///   - days: The first and the last day of validity, relative to now.
  func issue(
    _ name: String, names: String = "IP:127.0.0.1,DNS:localhost", by issuer: Pair? = nil, isAuthority: Bool = false,
    key: URL? = nil, days: ClosedRange<Int> = -1...30
  ) throws -> Pair {
    let pair = Pair(certificate: folder.url("\(name).pem"), key: key ?? folder.url("\(name).key"))
    let constraints =
      isAuthority
      ? "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
      : "basicConstraints=CA:FALSE\nsubjectAltName=\(names)\n"
    try folder.write(constraints, to: "\(name).ext")
    let source =
      key.map { "-key \($0.path)" } ?? "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key"
    try openssl("req -new \(source) -out \(name).csr", subject: name)
    let issuer = issuer ?? root
    // `openssl x509` can set the dates only since version 3.4. `openssl ca` can set them in every version.
    try folder.write("", to: "index.txt")
    try openssl(
      "ca -batch -notext -config ca.cnf -cert \(issuer.certificate.path) -keyfile \(issuer.key.path) -in \(name).csr "
        + "-out \(name).pem -extfile \(name).ext -startdate \(Self.date(days.lowerBound)) "
        + "-enddate \(Self.date(days.upperBound))")
    return pair
  }

  /// Makes a certificate that is signed with its own key.
  func issueSelfSigned(_ name: String, names: String = "IP:127.0.0.1,DNS:localhost") throws -> Pair {
    try openssl(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout \(name).key -out \(name).pem "
        + "-addext subjectAltName=\(names)", subject: name)
    return Pair(certificate: folder.url("\(name).pem"), key: folder.url("\(name).key"))
  }

  /// Issues a certificate for a server that has a common name and no alternative names.
  func issueNamedOnly(_ name: String) throws -> X509Certificate {
    try openssl(
      "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout only.key -out only.csr", subject: name)
    try openssl(
      "x509 -req -in only.csr -CA \(root.certificate.path) -CAkey \(root.key.path) -CAcreateserial -days 30 -out only.pem"
    )
    return try X509Certificate.load(folder.url("only.pem"))[0]
  }

  /// Writes the certificates that a server sends into one file: its own one, then the others.
  ///
  /// - Parameter key: The pair whose key the server uses. Default: the first pair.
  func chain(_ pairs: Pair..., key: Pair? = nil) throws -> (chain: URL, key: URL) { try chain(of: pairs, key: key) }

  func chain(of pairs: [Pair], key: Pair? = nil) throws -> (chain: URL, key: URL) {
    let file = folder.url("chain-\(UUID().uuidString).pem")
    try pairs.map { try String(contentsOf: $0.certificate, encoding: .utf8) }.joined()
      .write(to: file, atomically: true, encoding: .utf8)
    return (file, (key ?? pairs[0]).key)
  }

  static func date(_ days: Int) -> String {
    let format = DateFormatter()
    format.dateFormat = "yyyyMMddHHmmss'Z'"
    format.timeZone = TimeZone(identifier: "UTC")
    format.locale = Locale(identifier: "en_US_POSIX")
    return format.string(from: Date().addingTimeInterval(Double(days) * 86_400))
  }
}
