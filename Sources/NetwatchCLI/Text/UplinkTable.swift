import Netwatch

/// A table with a line for each link that could carry the traffic:
///
/// ```
///   ✓ eth0   wired  in use
///   ✓ wlan0  wifi   could carry the traffic
///   ✗ wwan0  wwan   10.1.0.2 does not answer
/// ```
struct UplinkTable {
  let uplinks: [Uplink]
  let terminal: Terminal

  var text: String {
    let names = uplinks.map { $0.interfaceName.sanitizedForTerminal }
    let media = uplinks.map { $0.medium.rawValue }
    let (mark, name) = (2, 4)
    let medium = name + 2 + (names.map(\.columns).max() ?? 0)
    let words = medium + 2 + (media.map(\.columns).max() ?? 0)
    return zip(uplinks, names).map { uplink, shown in
      let (sign, color) = terminal.appearance(of: uplink.works ? .ok : .failed)
      var line = terminal.foldedText(indent: words)
      line.append(sign, color, at: mark)
      line.append(shown, color, at: name)
      line.append(uplink.medium.rawValue, at: medium)
      line.append(uplink.stages.faultWords ?? (uplink.isInUse ? "in use" : "could carry the traffic"), at: words)
      return line.lines
    }.joined()
  }
}
