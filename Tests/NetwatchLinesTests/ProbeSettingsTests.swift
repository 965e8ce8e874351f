import Netwatch
import Testing

@testable import NetwatchLines

/// The settings of internet probes.
@Suite struct ProbeSettingsTests {
  @Test func `of a probe's URL, the host that needs a name server`() {
    for (url, host) in [
      ("http://example.org/generate_204", "example.org"), ("https://user:secret@Example.org:8080?x", "Example.org"),
      ("http://10.0.0.2/probe", nil), ("http://[fd00::2]:80/", nil), ("http://host", "host"),
    ] as [(String, String?)] {
      #expect(ProbeSettings(url: url, expectation: nil, userAgent: "").host?.text == host)
    }
  }
}
