import CLibOpenSSL
import Foundation
import Glibc
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchStream

/// An app whose HTTP requests drive an activity indicator. It reads a URL from each line of its standard input, sends a
/// GET request to it, and prints the status.
///
/// With arguments, it does something else:
///
/// - `path SECONDS`: Runs an app whose session knows the path; see `PathProbe`. A path loss counts after this many
///   seconds.
/// - `findings WORD…`: Prints what a monitor finds out; see `FindingsProbe`.
/// - `portal WORD…`: Asks portal APIs; see `PortalProbe`.
/// - `leave URL`: Gets the URL once, and exits while its session may still be running. Prints a line if OpenSSL cleans
///   up then.
/// - `many URL COUNT`: Gets the URL `COUNT` times at once, over at most 250 connections, and prints the result of each
///   request.
/// - `background IDENTIFIER WORKER`: Makes tasks of a background session; see `BackgroundProbe`.
/// - `download URL FILE`: Downloads the URL to the file, and continues an earlier download of it.
@main
enum HTTPProbe {
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count > 3, arguments[1] == "background" {
      return try await BackgroundProbe.main(arguments[2], worker: arguments[3])
    }
    if arguments.count > 2, arguments[1] == "path" {
      return try PathProbe.main(grace: Double(arguments[2]) ?? 3)
    }
    if arguments.count > 1, arguments[1] == "findings" {
      return try await FindingsProbe.main(Array(arguments.dropFirst(2)))
    }
    if arguments.count > 1, arguments[1] == "portal" {
      return try await PortalProbe.main(Array(arguments.dropFirst(2)))
    }
    if arguments.count == 3, arguments[1] == "leave", let url = URL(string: arguments[2]) {
      _ = try await HTTPSessionManager().data(for: HTTPRequest(.get, to: url))
      _ = OPENSSL_atexit { unsafe puts("OpenSSL cleans up") }
      return
    }
    if arguments.count == 4, arguments[1] == "download", let url = URL(string: arguments[2]) {
      let session = try HTTPSessionManager()
      _ = try await session.resumableDownload(HTTPRequest(.get, to: url), to: URL(filePath: arguments[3]))
      return
    }
    if arguments.count == 4, arguments[1] == "many", let url = URL(string: arguments[2]) {
      return try await get(url, times: Int(arguments[3]) ?? 0)
    }
    let indicator = ActivityIndicator()
    let reporter = try ActivityReporter(of: indicator)
    let session = try HTTPSessionManager(observer: indicator)
    while let line = readLine() {
      let reply = try await session.data(for: try HTTPRequest(.get, to: try session.url(for: line)))
      print("got", reply.response.status.code)
      fflush(nil)
    }
    withExtendedLifetime(reporter) {}
  }

  private static func get(_ url: URL, times count: Int) async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = 250
    let session = try HTTPSessionManager(configuration: configuration)
    let request = try HTTPRequest(.get, to: url)
    for result in await session.batch(Array(repeating: request, count: count), limit: count) {
      switch result {
      case .success(let reply): print("got", reply.response.status.code)
      case .failure(let error):
        print(error.kind.name, error.reason?.name ?? "-", error.code, error.domain?.description ?? "-", error.message)
      }
    }
    fflush(nil)
  }
}
