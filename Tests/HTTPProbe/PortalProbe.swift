import Glibc
import Netwatch
import NetwatchNetlink
import NetwatchPortal

/// Asks portal APIs.
///
/// - `ask LINK SERVER URL COUNT`: Asks the URL over the link with this name server, with `#` in it replaced by each number up to COUNT.
///   Prints a line for each answer: `-` for none, else `captive` or `free` and the login page.
/// - `monitor`: Runs a monitor that asks. Prints a line for each path: its reason, and `-` or the answer.
enum PortalProbe {
  static func main(_ words: [String]) async throws {
    if words.count == 5, words[0] == "ask" {
      let client = HTTPPortalAPIClient(timeout: .seconds(2))
      for number in 0..<(Int(words[4]) ?? 0) {
        let portal: CaptivePortal?
        if let address = PortalURL(words[3].replacing("#", with: "\(number)")) {
          portal = await client.ask(
            address, over: words[1], nameServers: [InternetAddress(words[2])].compactMap(\.self))
        } else {
          portal = nil
        }
        say(text(portal))
      }
      return
    }
    var configuration = MonitorConfiguration()
    configuration.portalAPI = HTTPPortalAPIClient()
    let monitor = try NetworkMonitor.start(configuration)
    for try await path in monitor.paths { say("\(path.reason.rawValue) \(text(path.announcements?.captivePortal))") }
  }

  private static func text(_ portal: CaptivePortal?) -> String {
    portal.map { "\($0.isCaptive ? "captive" : "free") \($0.loginPage.map(\.description) ?? "-")" } ?? "-"
  }

  private static func say(_ text: String) {
    print(text)
    fflush(nil)
  }
}
