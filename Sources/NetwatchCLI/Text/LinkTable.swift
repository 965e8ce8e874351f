import Netwatch

/// The links of a machine, a row each: mark, name, medium, state, addresses.
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

  /// More would push the line above off the screen.
  private static let enough = 12

  private let path: NetworkPath
  private let terminal: Terminal
  private let isWhole: Bool
  private let explains: Bool
  private let rows: [Row]
  private let omitted: Int
  /// Where the columns behind the mark begin.
  private let columns: Columns

  private struct Columns {
    let name = 4
    let medium: Int
    let state: Int
    let address: Int
    /// If the columns alone fill the terminal there are none.
    let isRoomy: Bool
  }

  /// - Parameters:
  ///   - isWhole: whether every link is listed, loopback too.
  ///   - explains: whether it is said what keeps a link from working.
  init(_ path: NetworkPath, on terminal: Terminal, isWhole: Bool, explains: Bool) {
    self.path = path
    self.terminal = terminal
    self.isWhole = isWhole
    self.explains = explains
    let all = path.links.filter { isWhole || !$0.isLoopback }.map { interface in
      Row(
        interface: interface, name: interface.shownName, medium: interface.medium.rawValue,
        state: path.state(of: interface), isUsed: path.isUsed(interface))
    }
    // Those that matter first, else as the kernel numbers them.
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

  /// Every link has one of IPv6 that is good on the link alone.
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
  /// It carries the traffic, or is the tunnel that it goes through.
  fileprivate func isUsed(_ interface: Interface) -> Bool {
    interface.index == interfaceIndex || interface.kernelName == vpn?.kernelName
  }

  fileprivate func state(of interface: Interface) -> String {
    if let fault = interface.fault { return fault == .linkDown ? "switched off" : fault.rawValue.words }
    if interface.isLoopback { return "loopback" }
    if isUsed(interface) { return "in use" }
    if let master = interface.masterIndex {
      return "port of " + (links.interface(master)?.shownName ?? "number \(master)")
    }
    return status(of: interface) == .notReachable ? "no address" : "ready"
  }
}
