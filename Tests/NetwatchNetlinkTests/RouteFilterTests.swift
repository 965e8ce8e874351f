import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct RouteFilterTests {
  static let targetSets: [[InternetAddress]] = [
    [.ip("192.0.2.1"), .ip("2001:db8::1")], [.ip("203.0.113.200")], [.ip("2001:db8:1234:5678:9abc:def0:1234:5678")],
    [.ip("10.0.0.1"), .ip("192.0.2.1"), .ip("2001:db8::1"), .ip("fd00::1")], [],
  ]

  struct Sample {
    let bytes: [UInt8]
    let passes: Bool
    let text: String
  }

  /// Returns routes to prefixes around `target`. Plain arithmetic says whether each one must pass.
  static func samples(around target: InternetAddress, _ targets: [InternetAddress]) -> [Sample] {
    let (width, bits): (Int, UInt128) =
      switch target {
      case .v4(let bits): (32, UInt128(bits))
      case .v6(let bits): (128, bits)
      }
    var samples: [Sample] = []
    for length in 0...width {
      let mask = length == 0 ? 0 : ~UInt128(0) << UInt128(width - length)
      var prefixes = [bits & mask]
      if length > 0 {
        prefixes.append((bits ^ 1 << UInt128(width - length)) & mask)
        prefixes.append((bits ^ 1 << UInt128(width - 1)) & mask)
      }
      for prefix in prefixes {
        samples.append(sample(prefix, width, length, targets, type: RTM_NEWROUTE))
        samples.append(sample(prefix, width, length, targets, type: RTM_DELROUTE))
      }
    }
    return samples
  }

  static func sample(_ prefix: UInt128, _ width: Int, _ length: Int, _ targets: [InternetAddress], type: Int) -> Sample
  {
    let address: InternetAddress = width == 32 ? .v4(UInt32(truncatingIfNeeded: prefix)) : .v6(prefix)
    let bytes = MessageBuilder.route(
      type: type, family: width == 32 ? AF_INET : AF_INET6, prefixLength: UInt8(length)
    ) {
      // The kernel sends the table first, and then the destination, which a default route does not have.
      $0.attribute(Int(RTA_TABLE.rawValue), number: UInt32(254))
      if length > 0 { $0.attribute(Int(RTA_DST.rawValue), address) }
      $0.attribute(Int(RTA_OIF.rawValue), number: Int32(3))
    }
    let passes = targets.contains { contains(prefix, width, length, $0) }
    return Sample(bytes: bytes, passes: passes, text: "type \(type) \(address)/\(length)")
  }

  static func contains(_ prefix: UInt128, _ width: Int, _ length: Int, _ target: InternetAddress) -> Bool {
    switch target {
    case .v4(let bits): width == 32 && (0..<length).allSatisfy { (UInt128(bits) ^ prefix) >> UInt128(31 - $0) & 1 == 0 }
    case .v6(let bits): width == 128 && (0..<length).allSatisfy { (bits ^ prefix) >> UInt128(127 - $0) & 1 == 0 }
    }
  }

  static func allSamples(_ targets: [InternetAddress]) -> [Sample] {
    var samples = ([.ip("192.0.2.1"), .ip("2001:db8::1")] + targets).flatMap { Self.samples(around: $0, targets) }
    var random = SplitMix(seed: 9)
    for _ in 0..<200 {
      let width = random.oneIn(2) ? 32 : 128
      let length = Int.random(in: 0...width, using: &random)
      let bits = (UInt128(random.next()) << 64 | UInt128(random.next())) >> UInt128(128 - width)
      let mask = length == 0 ? 0 : ~UInt128(0) << UInt128(width - length)
      samples.append(sample(bits & mask, width, length, targets, type: RTM_NEWROUTE))
    }
    let ten = UInt128(10) << 24
    samples.append(sample(UInt128(192) << 24, 32, 9, targets, type: RTM_NEWROUTE))
    samples.append(sample(ten, 32, 8, targets, type: RTM_DELROUTE))
    return samples
  }

  /// Returns messages that are not routes. All of them pass, except those of a bridge about its ports. A route with a
  /// prefix length but without an address passes if addresses of its family are watched.
  static func others(_ targets: [InternetAddress]) -> [Sample] {
    let routes: Set<Int> = [RTM_NEWROUTE, RTM_DELROUTE]
    let rest = Corpus.all.filter { !routes.contains(Int($0[4]) | Int($0[5]) << 8) }
    let ofBridges = [Corpus.portOfBridgeFamily, Corpus.portRemovedOfBridgeFamily]
    var samples = rest.map { Sample(bytes: $0, passes: !ofBridges.contains($0), text: "type \($0[4])") }
    for family in [AF_INET, AF_INET6] {
      let isWatched = targets.contains { ($0.family == .ipv4) == (family == AF_INET) }
      samples.append(
        Sample(bytes: MessageBuilder.route(family: family, prefixLength: 24), passes: isWatched, text: "no address"))
    }
    samples.append(Sample(bytes: MessageBuilder.route(family: 28), passes: false, text: "MPLS"))
    samples.append(Sample(bytes: MessageBuilder.route(family: 129, prefixLength: 4), passes: false, text: "multicast"))
    return samples
  }

  @Test(arguments: targetSets)
  func `only routes whose prefix holds a watched address pass, by the interpreter`(_ targets: [InternetAddress]) {
    let filter = FilterInterpreter(program: RouteFilter.program(watching: targets))
    for sample in Self.allSamples(targets) + Self.others(targets) {
      #expect(filter.run(sample.bytes).map { $0 > 0 } == sample.passes, "\(sample.text) watching \(targets)")
    }
  }

  @Test func `routes to single addresses pass if they matter`() {
    let targets = Self.targetSets[0]
    let filter = FilterInterpreter(program: RouteFilter.program(watching: targets, passesHostRoutes: true))
    var passed = 0
    for sample in Self.allSamples(targets) {
      let isHostRoute = sample.text.hasSuffix("/32") && !sample.text.contains(":") || sample.text.hasSuffix("/128")
      #expect(filter.run(sample.bytes).map { $0 > 0 } == (sample.passes || isHostRoute), "\(sample.text)")
      if isHostRoute, !sample.passes { passed += 1 }
    }
    #expect(passed > 8)
  }

  @Test(arguments: targetSets)
  func `only routes whose prefix holds a watched address pass, by the kernel`(_ targets: [InternetAddress]) throws {
    var program = RouteFilter.program(watching: targets)
    var ends: [CInt] = [-1, -1]
    try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let count = UInt16(program.count)
    let result = unsafe program.withUnsafeMutableBufferPointer { instructions in
      var fprog = unsafe sock_fprog(len: count, filter: instructions.baseAddress)
      return unsafe setsockopt(ends[1], SOL_SOCKET, SO_ATTACH_FILTER, &fprog, socklen_t(MemoryLayout<sock_fprog>.size))
    }
    try #require(result == 0)
    var buffer = [UInt8](repeating: 0, count: 4096)
    for sample in Self.allSamples(targets) + Self.others(targets) {
      try #require(unsafe send(ends[0], sample.bytes, sample.bytes.count, 0) == sample.bytes.count)
      let received = unsafe recv(ends[1], &buffer, buffer.count, CInt(MSG_DONTWAIT))
      #expect((received == sample.bytes.count) == sample.passes, "\(sample.text) watching \(targets)")
    }
  }

  @Test func `a prefix as address calculators write it moves the default target`() {
    let filter = FilterInterpreter(program: RouteFilter.program(watching: [.ip("192.0.2.1")]))
    let wide = Self.sample(UInt128(192) << 24, 32, 9, [.ip("192.0.2.1")], type: RTM_NEWROUTE)
    #expect(wide.passes)
    #expect(filter.run(wide.bytes).map { $0 > 0 } == true)
    #expect(filter.run(Corpus.routeAddedV4).map { $0 > 0 } == true)
  }

  // MARK: Many addresses

  static func addresses(_ family: AddressFamily, _ count: Int) -> [InternetAddress] {
    (0..<count).map { family == .ipv4 ? .v4(0xc633_6400 + UInt32($0)) : .v6(UInt128($0) << 64 | 0x2001 << 112) }
  }

  @Test(arguments: [(AddressFamily.ipv4, AddressFamily.ipv6), (.ipv6, .ipv4)])
  func `of too many addresses of one family everything passes, and of the other what it should`(
    _ many: AddressFamily, _ few: AddressFamily
  ) {
    let targets = Self.addresses(many, 200) + Self.addresses(few, 1)
    let filter = FilterInterpreter(program: RouteFilter.program(watching: targets))
    for sample in Self.allSamples(targets.suffix(1)) {
      let isOfMany = sample.bytes[16] == UInt8(many == .ipv4 ? AF_INET : AF_INET6)
      #expect(filter.run(sample.bytes).map { $0 > 0 } == (isOfMany || sample.passes), "\(sample.text)")
    }
    #expect(filter.run(MessageBuilder.route(family: 28)) == 0)
  }

  @Test func `no program is longer than the kernel takes`() {
    for count in 0...40 {
      let program = RouteFilter.program(watching: Self.addresses(.ipv4, count) + Self.addresses(.ipv6, count))
      #expect(program.count <= 4096)  // BPF_MAXINSNS of the kernel
    }
  }
}
