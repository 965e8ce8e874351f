import Testing

@testable import NetwatchCLI

/// How many columns a text takes on a terminal.
@Suite struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("eth0", 4), ("Café", 4), ("Cafe\u{301}", 4), ("網路", 4), ("한국", 4), ("\u{1112}\u{1161}\u{11ab}", 2),
    ("ｗｉｆｉ", 8), ("ﾜｲﾌｧｲ", 5), ("📶", 2), ("🇨🇭", 2), ("👍🏽", 2), ("❤\u{fe0f}", 2), ("ก็", 1), ("ä̈̈", 1), ("●", 1), ("…", 1),
  ])
  func `as wide as on a terminal`(text: String, width: Int) {
    #expect(text.columns == width)
  }

  @Test(arguments: [
    ("enp0s31f6", 9, "enp0s31f6"), ("enp0s31f6", 8, "enp0s31…"), ("網路網路", 5, "網路…"), ("網路網路", 4, "網…"),
    ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("abc", 1, "…"), ("abc", 0, ""), ("🇨🇭🇨🇭🇨🇭", 4, "🇨🇭…"),
  ])
  func `what is too long is cut between characters`(text: String, width: Int, shown: String) {
    #expect(text.fitted(to: width, ellipsis: "…") == shown)
  }
}
