import Foundation
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

struct User: Codable, Sendable { var name: String }

func useHTTP(_ activity: ActivityIndicator, _ monitor: NetworkMonitor) async throws {
  let base = URL(string: "https://api.example.org/v1")
  let api = try HTTPSessionManager(baseURL: base, observer: activity, path: monitor)
  let user: User = try await api.get("users/1")  // JSON, or a serializer of your choice
  let made: User = try await api.post("users", parameters: ["name": "Ali", "tags": ["a", "b"]])
  print(user.name, made.name)
}
