import Netwatch

/// waybar, a `custom` module with `"return-type": "json"`.
///
/// Colours are the style sheet's, by the classes.
final class WaybarFormat: BarFormat {
  var markup: BarMarkup { .pango }

  private var scratch = LineBuffer(capacity: 256)

  func begin(_ line: inout LineBuffer, _ state: BarState) { line.append(#"{"text":""#) }

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range { line.append(pango: text[position]) }
  }

  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer) { line.append(json: byte) }

  func end(_ line: inout LineBuffer, _ state: BarState) {
    line.append(#"","alt":""#)
    line.append(text: state.word)
    line.append(#"","tooltip":""#)
    if !state.isHidden { appendTooltip(of: state, to: &line) }
    line.append(#"","class":[""#)
    let path = state.path
    line.append(text: path.medium?.rawValue ?? state.word)
    line.append("\"")
    if path.isReachable { line.append(#","online""#) }
    if state.condition == .portal { line.append(#","portal""#) }
    if state.condition == .noInternet { line.append(#","no-internet""#) }
    if path.isExpensive { line.append(#","expensive""#) }
    if path.vpn != nil { line.append(#","vpn""#) }
    if state.isBusy { line.append(#","busy""#) }
    line.append("]")
    if let signal = path.wifi?.signal {
      line.append(#","percentage":"#)
      line.appendDecimal(UInt64(clamping: signal.percent))
    }
    line.append("}\n")
  }

  // MARK: The tooltip

  private func appendTooltip(of state: BarState, to line: inout LineBuffer) {
    let path = state.path
    guard path.isReachable else {
      append("", .name, of: state, to: &line)
      line.append(": ")
      return line.append(words: path.reason.rawValue)
    }
    append("", .medium, of: state, to: &line)
    append(" ", .interface, of: state, to: &line)
    append(": ", .ssid, of: state, to: &line)
    append(", ", .signal, of: state, to: &line)
    append(path.ipv4, to: &line)
    append(path.ipv6, to: &line)
    if path.vpn != nil {
      append("\\nVPN ", .vpn, of: state, to: &line)
      append(", ", .vpnKind, of: state, to: &line)
      if path.vpn?.isCarrierKnown == false { line.append(", carrier unknown") }
    }
    if let internet = state.record.internet {
      line.append("\\n")
      line.append(internet.words)
    }
  }

  private func append(_ family: NetworkPath.FamilyPath?, to line: inout LineBuffer) {
    guard let family else { return }
    line.append("\\n")
    family.address.write(to: &line)
    guard let gateway = family.gateway else { return }
    line.append(" via ")
    gateway.write(to: &line)
  }

  /// A field, with something before it if it says anything.
  private func append(
    _ before: StaticString, _ field: BarField, of state: BarState, to line: inout LineBuffer
  ) {
    scratch.removeAll()
    scratch.append(field, of: state)
    guard scratch.count > 0 else { return }
    line.append(before)
    append(scratch, 0..<scratch.count, to: &line)
  }
}
