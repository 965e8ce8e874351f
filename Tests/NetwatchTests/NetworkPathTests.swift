import Testing

@testable import Netwatch

@Suite struct NetworkPathTests {
  private static let links: InterfaceTable = [
    Interface(index: 2, kernelName: InterfaceName("eth0"), medium: .wired, operationalState: .up)
  ]

  private static func path() -> NetworkPath {
    NetworkPath(verdict: .notReachable, reason: .noRoute, interfaces: links)
  }

  @Test func `a path that somebody keeps has its values when the next one is written`() {
    var path = Self.path()
    let kept = path
    path.update { $0.verdict = .unknown }
    #expect(path.status == .unknown)
    #expect(kept.status == .notReachable)
    #expect(kept == Self.path())
    #expect(path != kept)
  }

  @Test func `a path that somebody keeps has its links when they are forgotten`() {
    var path = Self.path()
    let kept = path
    path.forgetLinks()
    #expect(kept.interfaces.map(\.name) == ["eth0"])
  }

  @Test func `a path that nobody keeps loses its links and nothing else`() {
    var path = Self.path()
    path.forgetLinks()
    #expect(path == NetworkPath(verdict: .notReachable, reason: .noRoute, interfaces: []))
  }

  @Test func `paths with equal values are equal wherever the values are`() {
    #expect(Self.path() == Self.path())
    #expect(Set([Self.path(), Self.path()]).count == 1)
  }
}
