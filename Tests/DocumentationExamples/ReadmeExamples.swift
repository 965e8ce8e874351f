import Foundation
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

/// The code in the README that is not a whole program.
struct ReadmeExamples {
  func useHTTP(_ base: URL, _ activity: ActivityIndicator) async throws {
    let monitor = try NetworkMonitor.start()
    let api = try HTTPSessionManager(baseURL: base, observer: activity, path: monitor)
    let user: User = try await api.get("users/1")
    let made: User = try await api.post("users", body: .json(User(name: "Eva")))
    print(user.name, made.name)
  }
}

/// The code of the articles that is in no other file.
struct TrafficExamples {
  func measure(_ monitor: NetworkMonitor) async {
    for await traffic in monitor.traffic(every: .seconds(2)) {
      print(traffic.interfaceName, traffic.receivedBitsPerSecond ?? 0, traffic.sentBitsPerSecond ?? 0)
    }
  }
}
