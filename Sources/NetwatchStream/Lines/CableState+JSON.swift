import Netwatch

extension CableState {
  /// The value of `link` in a line.
  package var json: JSONValue {
    func number(_ number: Int?) -> JSONValue { number.map { .integer(Int64($0)) } ?? .null }
    var members: [String: JSONValue] = [
      "interface": .string(interfaceName), "speed_mbps": number(megabitsPerSecond),
      "duplex": isFullDuplex.map { .string($0 ? "full" : "half") } ?? .null,
      "possible_mbps": number(possibleMegabitsPerSecond),
      "no_carrier_because": absence.map { .string($0.rawValue) } ?? .null,
    ]
    if !modes.isEmpty { members["modes"] = .array(modes.map { .string($0) }) }
    if !peerModes.isEmpty { members["peer_modes"] = .array(peerModes.map { .string($0) }) }
    return .object(members)
  }

  /// Reads the value of `link` in a line. A reason that only a later version knows is left out.
  init?(_ value: JSONValue) {
    guard let name = value["interface"]?.string else { return nil }
    func number(_ key: String) -> Int? { value[key]?.integer(in: 0...Int64(Int32.max)).map { Int($0) } }
    func modes(_ key: String) -> [String] { value[key]?.array?.compactMap(\.string) ?? [] }
    self.init(
      of: InterfaceName(name), megabitsPerSecond: number("speed_mbps"),
      isFullDuplex: value["duplex"]?.string.map { $0 == "full" }, modes: modes("modes"), peerModes: modes("peer_modes"),
      absence: value["no_carrier_because"]?.string.flatMap(Absence.init))
  }
}
