import Foundation
import Glibc
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchStream

/// An app whose HTTP requests are reported. Each line of stdin is a URL to be got; its status is printed.
@main
enum HTTPProbe {
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count > 2, arguments[1] == "path" {
      return try PathProbe.main(grace: Double(arguments[2]) ?? 3)
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
}
