import Netwatch
import NetwatchEventLoop

/// Requests that a service counts on our behalf: as many as ``count`` says, whichever service there is.
///
/// It belongs to the thread of its loop. If there is no service, nothing happens; when one comes back, it is told.
package final class ActivityLease {
  private let label: String?
  private var link: ServiceLink?
  private var told = 0

  /// The number of requests that run.
  package var count = 0 { didSet { tell() } }

  /// - Parameter label: A text for people who look at the service; what is beyond 256 bytes is cut off.
  package init(
    _ label: String? = nil, to addresses: [ServiceAddress] = ServiceAddress.candidates, on loop: EventLoop
  ) {
    self.label = label.map(Self.fitting)
    link = ServiceLink(
      to: addresses, on: loop,
      handlers: .init(
        connected: { [unowned self] in begin() }, lost: { [unowned self] in told = 0 }))
    // Where nothing tells of a service that comes later, one that is there is told.
    try? link?.start()
  }

  /// As much of a label as a service takes.
  private static func fitting(_ label: String) -> String {
    var label = label
    while label.utf8.count > ClientMessage.labelLimit { label.unicodeScalars.removeLast() }
    return label
  }

  private func begin() {
    told = 0
    link?.send(ClientMessage.events(false).line)
    tell()
  }

  private func tell() {
    guard let link, link.isConnected else { return }
    let wanted = min(count, ClientMessage.requestLimit)
    var text = ""
    while told < wanted {
      told += 1
      text += ClientMessage.begin(String(told), label: label).line
    }
    while told > wanted {
      text += ClientMessage.end(String(told)).line
      told -= 1
    }
    if !text.isEmpty { link.send(text) }
  }
}
