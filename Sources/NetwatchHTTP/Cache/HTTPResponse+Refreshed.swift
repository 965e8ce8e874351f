import HTTPTypes

extension HTTPResponse {
  /// With what a 304 says anew; of the body, it says nothing.
  func refreshed(by response: HTTPResponse) -> HTTPResponse {
    let ofBody: [HTTPField.Name] = [.contentLength, .contentEncoding, .contentType, .contentRange, .transferEncoding]
    var result = self
    for field in response.headerFields where !ofBody.contains(field.name) { result.headerFields[field.name] = nil }
    for field in response.headerFields where !ofBody.contains(field.name) { result.headerFields.append(field) }
    return result
  }
}
