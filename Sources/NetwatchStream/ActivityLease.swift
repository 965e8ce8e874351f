import Netwatch
import NetwatchEventLoop

/// Requests that a service counts on our behalf: as many as ``count`` says, with whichever service there is.
///
/// On a loop. Where there is no service, nothing happens; where one comes back, it is told.
package final class ActivityLease {
  private let label: String?
  private var link: ServiceLink?
  private var told = 0

  /// How many run.
  package var count = 0 { didSet { tell() } }

  /// - Parameter label: for people who look at the service; what is beyond 256 bytes is cut off.
  package init(
    _ label: String? = nil, to addresses: [ServiceAddress] = ServiceAddress.candidates, on loop: EventLoop
  ) {
    self.label = label.map(Self.fitting)
    link = ServiceLink(
      to: addresses, on: loop,
      handlers: .init(
        connected: { [unowned self] in begin() }, lost: { [unowned self] in told = 0 }))
    link?.start()
  }

  /// What a service takes.
  private static func fitting(_ label: String) -> String {
    var label = label
    while label.utf8.count > ClientMessage.labelLimit { label.unicodeScalars.removeLast() }
    return label
  }

  private func begin() {
    told = 0
    link?.send("{\"events\":false}\n")
    tell()
  }

  private func tell() {
    guard let link, link.isConnected else { return }
    let wanted = min(count, EventServer.requestLimit)
    var text = ""
    while told < wanted {
      told += 1
      var line = LineBuffer(capacity: 512)
      line.append("{\"begin\":\"")
      line.appendDecimal(UInt64(told))
      line.append("\"")
      if let label {
        line.append(",\"label\":")
        line.appendQuoted(label)
      }
      line.append("}\n")
      text += line.text
    }
    while told > wanted {
      text += "{\"end\":\"\(told)\"}\n"
      told -= 1
    }
    if !text.isEmpty { link.send(text) }
  }
}
