import Glibc
import Testing

@testable import NetwatchEventLoop

@Suite struct UserNamespaceTests {
  @Test(arguments: [
    ("         0          0 4294967295\n", true), ("0 100000 4294967295\n", true),
    ("         0       1000          1\n", false),
    ("0 1 1000\n1000 0 1\n1001 1001 64536\n", false), ("", false), ("1 1 4294967295\n", false),
    ("0 0 4294967296\n", false),
    ("garbage", false),
  ])
  func `a map is whole only if it has every user`(_ map: String, _ isWhole: Bool) {
    #expect(UserNamespace.mapsEveryUser(map) == isWhole)
  }

  @Test(arguments: [
    ("         0          0 4294967295\n", true), ("0 1000 1\n", true), ("0 1 1000\n1000 0 1\n", true),
    ("1000 1000 1\n", false), ("1 0 4294967295\n", false), ("0 0 0\n", false), ("", false), ("garbage", false),
  ])
  func `a map has a root if it has a user 0`(_ map: String, _ hasRoot: Bool) {
    #expect(UserNamespace.mapsRoot(map) == hasRoot)
  }

  @Test func `ids other than the overflow id are not ambiguous`() {
    for user in [0, 1, 1_000, 4_294_967_294] as [uid_t] { #expect(!UserNamespace.isAmbiguous(user)) }
  }
}
