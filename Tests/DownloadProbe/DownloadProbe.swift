import Foundation
import HTTPTypes
import NetwatchHTTP

/// `DownloadProbe URL FILE`: downloads, and goes on with what an earlier one has left.
@main enum DownloadProbe {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let url = URL(string: arguments[1]) else { exit(2) }
    let session = try HTTPSessionManager()
    do {
      _ = try await session.resumableDownload(HTTPRequest(.get, to: url), to: URL(filePath: arguments[2]))
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
