import Testing

@testable import NetwatchNetlink

/// Whether a process runs in a user namespace of its own, by /proc/self/uid_map.
@Suite struct ProcessNamespacesTests {
  @Test(arguments: [
    // The machine's own, as the kernel writes it.
    ("         0          0 4294967295\n", true),
    // unshare --map-root-user, rootless containers, a namespace that nobody has written a map for.
    ("         0       1000          1\n", false),
    ("         0       1000          1\n         1     100000      65536\n", false),
    ("         0          0      65536\n", false), ("         0          1 4294967294\n", false), ("", false),
    ("0 0 4294967295 7\n", false), ("0 0 99999999999999999999\n", false), ("a b c\n", false),
  ])
  func `only the machine's own has every user`(map: String, isWhole: Bool) {
    #expect(ProcessNamespaces.mapsEveryUser(Array(map.utf8)[...]) == isWhole)
  }
}
