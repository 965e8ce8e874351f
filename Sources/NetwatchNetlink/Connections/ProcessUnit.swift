/// The unit of systemd or the container that a process belongs to, by its control group.
struct ProcessUnit {
  /// The name, such as `ssh.service`, `firefox.scope` or `docker-0123456789ab`. The path of the group if it is neither of a unit nor of a
  /// container, such as `/`.
  let name: String

  /// The number of hexadecimal digits in the ID of a container, and how many of them people use.
  private static let (idLength, shownLength) = (64, 12)

  /// Reads the lines of /proc/PID/cgroup (cgroups(7)): `0::PATH` of version 2, or the hierarchy of systemd in version 1.
  init(cgroup: String) {
    let lines = cgroup.split(separator: "\n").map {
      $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    }
    let line = lines.first { $0.count == 3 && $0[1] == "name=systemd" } ?? lines.first { $0.count == 3 && $0[0] == "0" }
    let path = line.map { String($0[2]) } ?? "/"
    let parts = path.split(separator: "/").map(String.init)
    // Inside of a container, groups of its own may follow.
    if let place = parts.lastIndex(where: { Self.id(in: $0) != nil }), let id = Self.id(in: parts[place]) {
      var kind = parts[place][..<id.startIndex]
      while kind.last == "-" { kind.removeLast() }
      if kind.isEmpty { kind = place > 0 ? parts[place - 1][...] : "container" }
      name = "\(kind)-\(id.prefix(Self.shownLength))"
    } else {
      name = parts.last { [".service", ".scope"].contains(where: $0.hasSuffix) } ?? path
    }
  }

  /// Returns the ID of a container in the name of a group, such as `docker-ID.scope`, `cri-containerd-ID.scope` or `ID`.
  private static func id(in part: String) -> Substring? {
    part.split(whereSeparator: { !$0.isHexDigit || !$0.isASCII }).first { $0.count == idLength }
  }
}
