import Netwatch

extension BarFormat {
  /// The format of waybar, for a `custom` module with `"return-type": "json"`. The style sheet chooses the colours by the
  /// classes.
  static let waybar = BarFormat(
    showsSignal: true, markup: .pango, begin: { line, _, _ in line.append(#"{"text":""#) },
    append: { text, range, line in for position in range { line.append(pango: text[position]) } },
    appendLiteral: { byte, _, line in line.append(json: byte) },
    end: { line, state, scratch in
      line.append(#"","alt":""#)
      line.append(text: state.word)
      line.append(#"","tooltip":""#)
      if !state.isHidden { line.appendTooltip(of: state, &scratch) }
      line.append(#"","class":[""#)
      line.appendClasses(of: state)
      line.append("]")
      if let signal = state.path.wifi?.signal {
        line.append(#","percentage":"#)
        line.appendDecimal(UInt64(clamping: signal.percent))
      }
      line.append("}\n")
    })
}

extension LineBuffer {
  fileprivate mutating func appendClasses(of state: BarState) {
    let path = state.path
    append(text: path.medium?.rawValue ?? state.word)
    append("\"")
    if path.isReachable { append(#","online""#) }
    if state.condition == .portal { append(#","portal""#) }
    if state.condition == .noInternet { append(#","no-internet""#) }
    if path.isExpensive { append(#","expensive""#) }
    if path.vpn != nil { append(#","vpn""#) }
    if state.isBusy { append(#","busy""#) }
  }

  fileprivate mutating func appendTooltip(of state: BarState, _ scratch: inout LineBuffer) {
    let path = state.path
    guard path.isReachable else {
      append("", .name, of: state, &scratch)
      append(": ")
      return append(words: path.reason.rawValue)
    }
    append("", .medium, of: state, &scratch)
    append(" ", .interface, of: state, &scratch)
    append(": ", .ssid, of: state, &scratch)
    if let signal = path.wifi?.signal {
      append(", ")
      appendDecimal(UInt64(clamping: signal.percent))
      append("%")
    }
    append(path.ipv4)
    append(path.ipv6)
    if path.vpn != nil {
      append("\\nVPN ", .vpn, of: state, &scratch)
      append(", ", .vpnKind, of: state, &scratch)
      if path.vpn?.isCarrierKnown == false { append(", over an unknown link") }
    }
    if let internet = state.record.internet {
      append("\\n")
      append(internet.words)
    }
  }

  private mutating func append(_ family: NetworkPath.FamilyPath?) {
    guard let family else { return }
    append("\\n")
    family.address.write(to: &self)
    guard let gateway = family.gateway else { return }
    append(" via ")
    gateway.write(to: &self)
  }

  /// Appends `before` and a field. Appends nothing if the field is empty.
  private mutating func append(
    _ before: StaticString, _ field: BarField, of state: BarState, _ scratch: inout LineBuffer
  ) {
    scratch.removeAll()
    scratch.append(field, of: state)
    guard scratch.count > 0 else { return }
    append(before)
    let isIsolated = BarFormat.waybar.isolates([field], scratch, 0..<scratch.count)
    if isIsolated { append("\u{2068}") }
    for position in 0..<scratch.count { append(pango: scratch[position]) }
    if isIsolated { append("\u{2069}") }
  }
}
