/// The quality of the link that carries the traffic, as measured by the TCP connections of this machine.
public struct LinkQuality: Hashable, Sendable {
  /// The name of the link as the bytes that the kernel uses.
  package let kernelName: InterfaceName
  /// The index of the link in the kernel's table.
  public let interfaceIndex: Int32
  /// The number of connections that have sent something in the last 30 seconds.
  public let connections: Int
  /// The round-trip time, in tenths of a millisecond.
  package let tenthsOfMilliseconds: Int?
  /// The lost part of what was sent, in tenths of a per cent.
  package let tenthsOfPercent: Int?

  package init(
    kernelName: InterfaceName, interfaceIndex: Int32, connections: Int, tenthsOfMilliseconds: Int? = nil,
    tenthsOfPercent: Int? = nil
  ) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.connections = connections
    self.tenthsOfMilliseconds = tenthsOfMilliseconds
    self.tenthsOfPercent = tenthsOfPercent
  }

  /// The name of the link. Bytes that are not UTF-8 are replaced by U+FFFD.
  public var interfaceName: String { kernelName.text }
  /// The time from sending a segment until its acknowledgement: the median over the connections.
  ///
  /// Nil if fewer than 3 connections have measured one in the last 30 seconds.
  public var roundTripTime: Duration? { tenthsOfMilliseconds.map { .microseconds($0 * 100) } }
  /// The lost part of the segments that this machine has sent, in per cent.
  ///
  /// Nil if fewer than 3 connections have sent something, or if they have sent too little to tell.
  public var lossPercent: Double? { tenthsOfPercent.map { Double($0) / 10 } }

  package func isOf(_ link: (index: Int32, name: InterfaceName)?) -> Bool {
    link?.index == interfaceIndex && link?.name == kernelName
  }
}

extension LinkQuality: CustomStringConvertible {
  /// The name of the link, the round-trip time and the loss, such as `eth0: 12.3 ms, 0.5 % lost`. A figure that is not known
  /// is `?`.
  public var description: String {
    let time = tenthsOfMilliseconds.map { "\($0 / 10).\($0 % 10) ms" } ?? "? ms"
    return "\(interfaceName.sanitizedForTerminal): \(time), \(lossPercent.map { "\($0)" } ?? "?") % lost"
  }
}

/// Decides which figures a reader gets: those that differ from the ones that it got last. Pure.
package struct QualityNews: Hashable, Sendable {
  /// A small difference is published after this time, so that the last published figures are right if the link stays as it
  /// is.
  private static let patience = Duration.seconds(7)
  /// The difference that is published at once (`large`) and the one that is published after a while (`small`): tenths of a
  /// millisecond, tenths of a per cent, and for both of them the part of the last published figure, such as a fifth.
  private static let large = (time: 50, timePart: 5, loss: 5, lossPart: 5)
  private static let small = (time: 10, timePart: 20, loss: 1, lossPart: 50)

  private var lastSent: LinkQuality?
  private var time = Duration.zero

  package init() {}

  /// Returns whether the reader gets these figures. If so, later ones are compared with them.
  package mutating func take(_ quality: LinkQuality, at now: Duration) -> Bool {
    guard let lastSent, lastSent.isOf((quality.interfaceIndex, quality.kernelName)) else {
      remember(quality, now)
      return true
    }
    let least = now - time < Self.patience ? Self.large : Self.small
    let differs =
      Self.differs(quality.tenthsOfMilliseconds, lastSent.tenthsOfMilliseconds, by: least.time, part: least.timePart)
      || Self.differs(quality.tenthsOfPercent, lastSent.tenthsOfPercent, by: least.loss, part: least.lossPart)
    if differs { remember(quality, now) }
    return differs
  }

  private mutating func remember(_ quality: LinkQuality, _ now: Duration) {
    lastSent = quality
    time = now
  }

  private static func differs(_ new: Int?, _ old: Int?, by least: Int, part: Int) -> Bool {
    guard let new, let old else { return new != old }
    return UInt64((new - old).magnitude) > UInt64(max(least, old / part))
  }
}

extension LineBuffer {
  /// Appends a number of tenths as `23.4`.
  package mutating func append(tenths: Int) {
    let (whole, rest) = UInt64(clamping: tenths).quotientAndRemainder(dividingBy: 10)
    appendDecimal(whole)
    append(".")
    appendDecimal(rest)
  }
}
