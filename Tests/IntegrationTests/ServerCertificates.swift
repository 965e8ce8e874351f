import NetwatchTestSupport
import Testing

/// The files of a root certificate (root.pem), of a server's certificate below it for 127.0.0.1 (leaf.pem, leaf.key, leaf.der), and of an
/// unrelated certificate (other.pem), all made by openssl.
struct ServerCertificates {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9"
    let root = "-addext basicConstraints=critical,CA:TRUE"
    let script = """
      cd \(folder.path) && exec 2>&1
      for name in root other; do
        openssl req -x509 \(key) -keyout $name.key -out $name.pem -subj /CN=$name \(root) || exit
      done
      echo subjectAltName=IP:127.0.0.1 >names
      openssl req \(key) -keyout leaf.key -out leaf.csr -subj /CN=leaf &&
      openssl x509 -req -in leaf.csr -CA root.pem -CAkey root.key -days 9 -extfile names -out leaf.pem &&
      openssl x509 -in leaf.pem -outform der -out leaf.der && chmod 644 *
      """
    let result = try ChildProcess.run(["sh", "-c", script])
    guard result.ending == .exited(0) else { throw TestFailure("\(result.output)") }
  }
}
