/// The options of a task, which are large: copies of its call share them. Most tasks of a session have the same ones.
final class SharedOptions: Sendable {
  let value: HTTPTaskOptions

  init(_ value: HTTPTaskOptions) { self.value = value }
}
