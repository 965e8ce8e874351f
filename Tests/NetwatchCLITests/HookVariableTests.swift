import Netwatch
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// The variables in the environment of a hook.
@Suite struct HookVariableTests {
  private func variables(_ record: EventRecord, after old: HookVariables = HookVariables()) -> [String: String] {
    var result: [String: String] = [:]
    for entry in HookVariables(record).entries(after: old) {
      let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      result[String(parts[0])] = String(parts[1])
    }
    return result
  }

  @Test func `every variable has its old one, and none is unset`() {
    let before = HookVariables(.example(.wifi, ssid: "before"))
    let now = variables(.example(.notReachable), after: before)
    let names = now.keys.filter { !$0.hasPrefix("NETWATCH_OLD_") }
    #expect(now.count == 2 * names.count)
    #expect(
      names.sorted() == [
        "NETWATCH_EVENT", "NETWATCH_EXPENSIVE", "NETWATCH_GATEWAY", "NETWATCH_INTERFACE", "NETWATCH_INTERNET",
        "NETWATCH_IPV4", "NETWATCH_IPV6", "NETWATCH_MEDIUM", "NETWATCH_REASON", "NETWATCH_SSID", "NETWATCH_STAGE",
        "NETWATCH_STATUS", "NETWATCH_TEXT", "NETWATCH_VISIBLE", "NETWATCH_VPN",
      ])
    #expect(now["NETWATCH_SSID"] == "" && now["NETWATCH_OLD_SSID"] == "before")
    #expect(now["NETWATCH_TEXT"] == "Offline: the link of the route has no carrier.")
    #expect(now["NETWATCH_OLD_TEXT"] == "Online over wlan0, in the WiFi network “before”.")
    #expect(now["NETWATCH_EXPENSIVE"] == "" && now["NETWATCH_OLD_EXPENSIVE"] == "false")
    #expect(now["NETWATCH_GATEWAY"] == "" && now["NETWATCH_OLD_GATEWAY"] == "192.0.2.1")
    #expect(variables(.example(.wwan))["NETWATCH_EXPENSIVE"] == "true")
    #expect(variables(.example(.wifi)).filter { $0.key.hasPrefix("NETWATCH_OLD_") }.values.allSatisfy { $0.isEmpty })
  }

  @Test func `a value of a stranger's has no control characters`() {
    for (name, shown) in [
      ("a\0b", "a\u{fffd}b"), ("a\nNETWATCH_STATUS=wifi", "a\u{fffd}NETWATCH_STATUS=wifi"),
      ("\u{1b}[31m", "\u{fffd}[31m"),
      ("$(id) `id` \"'\\ %n", "$(id) `id` \"'\\ %n"), ("Café", "Café"), ("", ""),
    ] {
      #expect(variables(.example(.wifi, ssid: name))["NETWATCH_SSID"] == shown)
    }
  }
}
