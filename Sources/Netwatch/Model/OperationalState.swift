/// The operational state of a link (RFC 2863, IF_OPER_* of <linux/if.h>).
public enum OperationalState: UInt8, Hashable, Sendable, CaseIterable {
  case unknown, notPresent, down, lowerLayerDown, testing, dormant, up
}
