import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The web server nginx on loopback, with its own configuration and files. The program ends when the last reference to
/// this object is released.
final class NginxServer {
  let folder: TemporaryFolder
  private let port: LoopbackPort
  private let tlsPort: LoopbackPort
  private let program: SpawnedServer

  var url: URL { URL(string: "http://127.0.0.1:\(port.number)/")! }
  /// Returns the HTTPS URL of a server that was started with a certificate.
  func tlsURL(host: String = "127.0.0.1") -> URL { URL(string: "https://\(host):\(tlsPort.number)/")! }

  /// - Parameters:
  ///   - server: Further lines of the `server` block of nginx's configuration. Default: none.
  ///   - certificate: The files of a certificate chain and of its key. Default: nil, for a server without TLS.
  init(server: String = "", certificate: (chain: URL, key: URL)? = nil) throws {
    let folder = try TemporaryFolder()
    self.folder = folder
    for name in ["files", "body", "proxy", "fastcgi", "uwsgi", "scgi"] {
      try FileManager.default.createDirectory(at: folder.url(name), withIntermediateDirectories: true)
    }
    // The password is "open sesame".
    try folder.write("ali:{PLAIN}open sesame\n", to: "passwords")
    port = try LoopbackPort()
    tlsPort = try LoopbackPort()
    try Self.configure(folder, port.number, tlsPort.number, server, certificate)
    program = try SpawnedServer(
      "nginx", shell: "nginx -p \"$1\" -c nginx.conf -e error.log", [folder.path], ports: [port.number]
    ) {
      let error = folder.text(of: "error.log")
      guard !error.contains("[emerg]") else { throw TestFailure("nginx: \(error)") }
      // nginx writes its process number after it has bound its ports.
      return !folder.text(of: "nginx.pid").isEmpty
    }
  }

  private static func configure(
    _ folder: TemporaryFolder, _ port: UInt16, _ tlsPort: UInt16, _ server: String,
    _ certificate: (chain: URL, key: URL)?
  ) throws {
    let tls =
      certificate.map {
        """
        listen 127.0.0.1:\(tlsPort) ssl http2;
        ssl_certificate \($0.chain.path);
        ssl_certificate_key \($0.key.path);
        """
      } ?? ""
    try folder.write(
      """
      daemon off;
      master_process off;
      pid nginx.pid;
      error_log error.log;
      events { worker_connections 1024; }
      http {
        client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi; scgi_temp_path scgi;
        types { text/html html; text/plain txt; application/json json; image/png png; }
        log_format all '$request_method $request_uri $status $request_length $server_protocol '
                       'connection=$connection authorization="$http_authorization" cookie="$http_cookie"';
        access_log access.log all;
        client_max_body_size 0;
        keepalive_requests 1000000;
        gzip_types text/plain; gzip_min_length 20;
        server {
          listen 127.0.0.1:\(port);
          \(tls)
          root files;
          location = /method { default_type text/plain; return 200 $request_method; }
          location = /arguments { default_type text/plain; return 200 "$args"; }
          location = /field { default_type text/plain; return 200 $http_x_field; }
          location = /cookie/set { add_header Set-Cookie "flavour=oat; Path=/"; return 204; }
          location = /cookie/get { default_type text/plain; return 200 $http_cookie; }
          location = /no-content { return 204; }
          location = /missing { return 404 "not here"; }
          location /upload/ { dav_methods PUT DELETE; create_full_put_path on; }
          location /gzip/ { alias files/; gzip on; }
          location /private/ { alias files/; auth_basic "the vault"; auth_basic_user_file \(folder.path)/passwords; }
          \(server)
        }
      }
      """, to: "nginx.conf")
  }

  /// Puts a file into the folder from which the server sends files.
  func serve(_ text: String, as name: String) throws { try folder.write(text, to: "files/\(name)") }
  func serve(_ data: Data, as name: String) throws { try folder.write(data, to: "files/\(name)") }

  /// Waits until nginx has written `count` lines into its access log, and returns the lines, newest last. nginx writes
  /// one line for each request, when it has finished with it.
  func log(lines count: Int) async throws -> [String] {
    try await eventually(folder.text(of: "access.log").split(separator: "\n").map(String.init)) { $0.count >= count }
  }
}
