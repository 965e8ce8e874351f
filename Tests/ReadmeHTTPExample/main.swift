import Foundation
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

struct User: Codable, Sendable { var name: String }

let base = URL(string: CommandLine.arguments[1])!
let activity = ActivityIndicator()
let monitor = try NetworkMonitor.start()
let api = try HTTPSessionManager(baseURL: base, observer: activity, path: monitor)
let user: User = try await api.get("users/1")
let made: User = try await api.post("users", body: .json(User(name: "Eva")))
print(user.name, made.name)
