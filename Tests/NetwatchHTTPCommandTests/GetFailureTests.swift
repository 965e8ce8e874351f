import HTTPTypes
import NetwatchHTTP
import Testing

@testable import NetwatchHTTPCommand

@Suite struct GetFailureTests {
  private func failure(_ error: HTTPError, pins: Bool = false) throws -> GetFailure {
    try GetFailure(error, WebAddress("https://ali:s3cret@example.org/it"), "it", pins: pins)
  }

  private func failure(status: Int) throws -> GetFailure {
    var error = HTTPError(.badServerResponse, "download", code: CInt(status), message: "status \(status)")
    error.response = HTTPResponse(status: .init(code: status))
    return try failure(error)
  }

  @Test(
    arguments: [
      (.timedOut, true), (.notResolved, true), (.pathLost, true), (.cannotConnect, true), (.connectionLost, true),
      (.secureConnectionFailed, false), (.serverCertificateUntrusted, false), (.tooManyRedirects, false),
      (.badURL, false), (.fileFailed, false), (.cannotDecodeContentData, false), (.other, false), (.invalidated, false),
    ] as [(HTTPError.Kind, Bool)])
  func `every failure is a sentence without secrets, and some may pass`(kind: HTTPError.Kind, mayPass: Bool) throws {
    let failure = try failure(HTTPError(kind, "request", message: "why"))
    #expect(!failure.description.isEmpty && !failure.description.contains("s3cret"))
    #expect(failure.mayPass == mayPass)
  }

  @Test func `a damaged body is told apart from what is no text`() throws {
    let damaged = try failure(HTTPError(.cannotDecodeContentData, "decompress gzip", message: "the body stops"))
    #expect(damaged.description.hasSuffix(" has sent is damaged: decompress gzip: the body stops"))
    #expect(try failure(HTTPError(.cannotDecodeContentData, "print")).description.hasPrefix("this is no text"))
  }

  /// Tests a status without a reason phrase, because HTTP/2 has none.
  @Test(arguments: [(404, false), (401, false), (408, true), (429, true), (500, true), (501, false), (503, true)])
  func `a status is said, and some may be another one the next time`(status: Int, mayPass: Bool) throws {
    let failure = try failure(status: status)
    #expect(failure.description.hasPrefix("the server answers \(status)"))
    #expect(failure.mayPass == mayPass)
  }

  @Test func `a status that is well known has its words`() throws {
    #expect(try failure(status: 404).description == "the server answers 404 Not Found")
    #expect(try failure(status: 499).description == "the server answers 499")
  }

  @Test func `an answer that cannot be trusted is said in words`() throws {
    var error = HTTPError(.badServerResponse, "download", message: "the server has sent a part of another file")
    error.response = HTTPResponse(status: .partialContent)
    #expect(try failure(error).description == "the server has sent a part of another file")
  }

  @Test func `a redirect that a pin cannot vouch for is told apart`() throws {
    let error = HTTPError(.badURL, "redirect", message: "http://elsewhere/")
    #expect(try failure(error, pins: true).description.contains("--pin"))
    #expect(try !failure(error).description.contains("--pin"))
  }
}
