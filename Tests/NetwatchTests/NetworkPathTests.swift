import Testing

@testable import Netwatch

@Suite struct NetworkPathTests {
  private static let links: InterfaceTable = [
    Interface(index: 2, kernelName: InterfaceName("eth0"), medium: .wired, operationalState: .up)
  ]

  private static func path() -> NetworkPath {
    NetworkPath(verdict: .notReachable, reason: .noRoute, interfaces: links)
  }

  @Test func `paths with equal values are equal wherever the values are`() {
    #expect(Self.path() == Self.path())
    #expect(Set([Self.path(), Self.path()]).count == 1)
  }
}
