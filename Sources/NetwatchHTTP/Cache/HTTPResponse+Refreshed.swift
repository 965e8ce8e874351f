import HTTPTypes

extension HTTPResponse {
  /// Returns the response with the fields of a 304. Fields about the body are not changed. A response that would have more fields than
  /// a head may have stays as it is.
  func refreshed(by response: HTTPResponse) -> HTTPResponse {
    let ofBody: [HTTPField.Name] = [.contentLength, .contentEncoding, .contentType, .contentRange, .transferEncoding]
    let new = response.headerFields.filter { !ofBody.contains($0.name) }
    let names = Set(new.map(\.name))
    let kept = headerFields.filter { !names.contains($0.name) }
    guard kept.count + new.count <= HTTPFields.mostReceived else { return self }
    var result = self
    result.headerFields = kept + new
    return result
  }
}
