/// The operational state of a link (RFC 2863, IF_OPER_* of <linux/if.h>).
public enum OperationalState: UInt8, Hashable, Sendable, CaseIterable {
  /// One of the seven states, in the order of their numbers.
  ///
  /// - `unknown`: The driver does not report a state. The link can still be usable.
  /// - `notPresent`: The hardware is missing.
  /// - `down`: The link cannot carry data, for example because no cable is plugged in or because it is switched off.
  /// - `lowerLayerDown`: The link below this one is down.
  /// - `testing`: The link is in a test mode.
  /// - `dormant`: The link waits for something, such as an authentication.
  /// - `up`: The link can carry data.
  case unknown, notPresent, down, lowerLayerDown, testing, dormant, up
}
