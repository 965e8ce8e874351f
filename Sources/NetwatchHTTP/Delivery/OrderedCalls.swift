/// Calls that are decided under a lock, and made without it, by one thread at a time and in order.
struct OrderedCalls: Sendable {
  private var calls: [CallbackQueue.Job] = []
  /// Somebody makes calls, and will look for more.
  private var isBusy = false

  mutating func append(_ call: @escaping CallbackQueue.Job) { calls.append(call) }

  /// What its caller has to make now, before it asks to ``goOn()``; none where somebody else does.
  mutating func begin() -> [CallbackQueue.Job] {
    guard !isBusy, !calls.isEmpty else { return [] }
    isBusy = true
    return take()
  }

  /// What has come meanwhile. After none, others may begin.
  mutating func goOn() -> [CallbackQueue.Job] {
    if calls.isEmpty { isBusy = false }
    return take()
  }

  private mutating func take() -> [CallbackQueue.Job] {
    defer { calls = [] }
    return calls
  }
}
