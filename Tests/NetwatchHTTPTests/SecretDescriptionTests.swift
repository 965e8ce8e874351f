import Foundation
import NetwatchHTTP
import Testing

/// Values with secrets print without them, also within other values.
@Suite struct SecretDescriptionTests {
  @Test func `a credential prints the user and not the password`() {
    let credential = HTTPCredential(user: "ali", password: "open sesame", scheme: .digest)
    #expect("\(credential)" == "ali (digest)")
    #expect("\(HTTPCredential.negotiate)" == "the user's ticket (negotiate)")
    var options = HTTPTaskOptions()
    options.credential = credential
    #expect(!"\(options)".contains("sesame"))
    #expect(!String(reflecting: options).contains("sesame"))
  }

  @Test func `a proxy prints where it is, without its credential`() {
    let credential = HTTPCredential(user: "ali", password: "open sesame")
    let proxy = HTTPProxy.http("proxy.example", port: 3128, credential: credential)
    #expect("\(proxy)" == "http://proxy.example:3128")
    #expect("\(HTTPProxy.direct) \(HTTPProxy.environment)" == "direct environment")
  }

  @Test func `a token prints when it expires`() {
    #expect("\(BearerToken("secret"))" == "bearer token")
    let text = "\(BearerToken("secret", expiration: Date(timeIntervalSince1970: 0)))"
    #expect(text.hasPrefix("bearer token, expires 1970-01-01"))
  }

  @Test func `a cookie prints whose it is, and not its value`() throws {
    let cookie = try #require(SessionCookie(name: "session", value: "secret", domain: "example.com"))
    #expect("\(cookie)" == "session for example.com/")
  }
}
