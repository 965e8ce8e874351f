import Netwatch

/// A table with a row for each link of a machine: mark, name, medium, state, addresses.
///
/// ```
///   ● wg0     other  in use        10.7.0.2/24
///   ● wlan0   wifi   in use        192.168.1.23/24 2001:db8::23/64
///   ○ enp1s0  wired  no carrier
/// ```
struct LinkTable {
  fileprivate struct Row {
    let interface: Interface
    let name: String
    let medium: String
    let state: String
    let isUsed: Bool
  }

  /// The most rows, unless all links are listed. More would push the line above the table off the screen.
  private static let enough = 12

  private let path: NetworkPath
  private let terminal: Terminal
  private let isWhole: Bool
  private let explains: Bool
  private let rows: [Row]
  private let omitted: Int
  /// The positions of the columns after the mark.
  private let columns: Columns

  private struct Columns {
    let name = 4
    let medium: Int
    let state: Int
    let address: Int
    /// Whether the terminal is wide enough for columns.
    let isRoomy: Bool
  }

  /// - Parameters:
  ///   - isWhole: Whether all links are listed, including loopback.
  ///   - explains: Whether the table says what keeps a link from working.
  init(_ path: NetworkPath, on terminal: Terminal, isWhole: Bool, explains: Bool) {
    self.path = path
    self.terminal = terminal
    self.isWhole = isWhole
    self.explains = explains
    let all = path.links.filter { isWhole || !$0.isLoopback && !$0.isMadeByKernel }.map { interface in
      Row(
        interface: interface, name: interface.shownName, medium: interface.medium.rawValue,
        state: path.state(of: interface), isUsed: path.isUsed(interface))
    }
    // The important links come first. Otherwise the order is that of the kernel's numbers.
    let sorted = isWhole ? all : all.sorted { $0.rank(in: path) < $1.rank(in: path) }
    rows = isWhole ? sorted : Array(sorted.prefix(Self.enough))
    omitted = sorted.count - rows.count
    columns = Self.columns(of: rows, on: terminal)
  }

  private static func columns(of rows: [Row], on terminal: Terminal) -> Columns {
    func width(_ column: KeyPath<Row, String>) -> Int {
      2 + (rows.map { $0[keyPath: column].columns }.max() ?? 0)
    }
    let medium = 4 + width(\.name)
    let state = medium + width(\.medium)
    let address = state + width(\.state)
    return Columns(
      medium: medium, state: state, address: address, isRoomy: address + 16 <= terminal.columns ?? .max)
  }

  var text: String {
    var text = rows.map(line).joined()
    if omitted > 0 { text += "  and \(omitted) more; --interfaces lists them all\n" }
    return text
  }

  private func line(_ row: Row) -> String {
    let isRoomy = columns.isRoomy
    var line = terminal.foldedText(indent: isRoomy ? columns.address : columns.name)
    let status = path.status(of: row.interface)
    line.append(terminal.mark(status), terminal.color(of: status), at: 2)
    line.append(row.name, at: columns.name)
    line.append(row.medium, at: isRoomy ? columns.medium : 0)
    line.append(row.state, row.isUsed ? .bold : nil, at: isRoomy ? columns.state : 0)
    for known in addresses(of: row.interface) {
      line.append("\(known.address)/\(known.prefixLength)", at: isRoomy ? columns.address : 0)
    }
    if explains, let advice = row.interface.fault.flatMap({ row.interface.advice(on: $0) }) {
      line.breakLine()
      line.append(advice, .dim, at: 6)
    }
    return line.lines
  }

  /// Returns the addresses to list. Unless everything is listed, IPv6 link-local addresses are left out, because every link has
  /// one.
  private func addresses(of interface: Interface) -> [InterfaceAddress] {
    if isWhole { return interface.addresses }
    return interface.addresses.filter { $0.address.family == .ipv4 || !$0.address.isLinkLocal }
  }
}

extension LinkTable.Row {
  fileprivate func rank(in path: NetworkPath) -> (Int, Int32) {
    (isUsed ? 0 : path.status(of: interface) == .notReachable ? 2 : 1, interface.index)
  }
}

extension NetworkPath {
  /// Returns whether an interface carries the traffic or is the tunnel that the traffic goes through.
  fileprivate func isUsed(_ interface: Interface) -> Bool {
    interface.index == interfaceIndex || interface.kernelName == vpn?.kernelName
  }

  fileprivate func state(of interface: Interface) -> String {
    if let fault = interface.fault { return fault == .linkDown ? interface.offWords : fault.rawValue.words }
    if interface.isLoopback { return "loopback" }
    if isUsed(interface) { return "in use" }
    if let master = interface.masterIndex {
      return "port of " + (links.interface(master)?.shownName ?? "number \(master)")
    }
    if !links.isUsable(interface) { return "no port runs" }
    return status(of: interface) == .notReachable ? "no address" : "ready"
  }
}
