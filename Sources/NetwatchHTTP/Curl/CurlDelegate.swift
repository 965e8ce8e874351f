import CLibCurl

/// The delegate of a ``CurlEasy``: what libcurl asks and reports during a request. Only ``ended(_:)`` may add or remove a
/// request.
protocol CurlDelegate: AnyObject {
  /// libcurl makes a connection for the request, or sends the request over an existing one.
  func hasBegun()

  /// libcurl is about to look up a name, but has not reported which one.
  ///
  /// - Returns: True if libcurl must not do so. It then fails the request.
  func takesLookup() -> Bool

  /// Returns whether the request may be sent now.
  func maySend() -> Bool

  /// libcurl has received a line of a response's head, with its line break.
  ///
  /// - Returns: False to fail the request.
  func received(headLine line: UnsafeRawBufferPointer) -> Bool

  /// The received bytes are not HTTP, so the request is broken off.
  func refuse(_ failure: HTTPError)

  /// libcurl has received a part of the response's body, with its codings unless libcurl removes them.
  func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance

  /// libcurl has room for more of the request's body.
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply

  /// libcurl has to send the request's body again.
  ///
  /// - Returns: False if that is impossible.
  func rewind() -> Bool

  /// libcurl has finished, and has released the request. Other requests may be added and removed now.
  func ended(_ code: CURLcode)
}
