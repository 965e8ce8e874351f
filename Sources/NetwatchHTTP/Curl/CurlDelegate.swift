import CLibCurl

/// Makes a request with a ``CurlEasy``: what libcurl asks and tells meanwhile. None but ``ended(_:)`` may add or remove a request.
///
/// A class and no protocol, because each use of an unowned reference to a protocol's value counts it: two atomic operations for
/// each line of a head.
class CurlDelegate {
  /// A connection is being made for the request, or the request goes out by one that is up.
  func hasBegun() {}

  /// libcurl is about to look a name up, and has not said which.
  ///
  /// - Returns: Whether it must not: it then fails the request.
  func takesLookup() -> Bool { false }

  /// Whether the request may be sent now.
  func maySend() -> Bool { true }

  /// A line of a response's head, with its line break.
  ///
  /// - Returns: false to fail the request.
  func received(headLine line: UnsafeRawBufferPointer) -> Bool { false }

  /// What has come is no HTTP: the request is broken off.
  func refuse(_ failure: HTTPError) {}

  /// A part of the response's body. Its codings are on it unless libcurl takes them off.
  func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance { .refused }

  /// There is room for more of the request's body.
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply { .failed }

  /// The request's body has to be sent once more.
  ///
  /// - Returns: false if that is impossible.
  func rewind() -> Bool { false }

  /// libcurl is done, and has let go of the request. From here others may be added and removed.
  func ended(_ code: CURLcode) {}
}
