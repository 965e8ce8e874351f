/// The options of a task. They are large, so the copies of a call share them. Most tasks of a session have the same options.
final class SharedOptions: Sendable {
  let value: HTTPTaskOptions

  init(_ value: HTTPTaskOptions) { self.value = value }
}
