import FoundationEssentials
import Glibc
import HTTPTypes

/// Where a response's body goes. Belongs to the loop.
protocol BodySink: AnyObject {
  /// Before the first byte, once a response has been accepted as the one.
  ///
  /// - Parameter length: what the server says; nil where it says nothing.
  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError)
  func take(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> CurlEasy.Acceptance
  /// The body is whole, or will never be.
  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody
}

/// What has become of a body.
enum ReceivedBody: Sendable {
  case none
  case data(Data)
  case file(URL)

  var data: Data { if case .data(let data) = self { data } else { Data() } }

  var file: URL {
    get throws(HTTPError) {
      guard case .file(let url) = self else { throw HTTPError(.fileFailed, "download", message: "there is no file") }
      return url
    }
  }
}

/// Keeps the body in memory.
struct MemoryBody {
  /// What a server announces is believed up to here.
  private static let mostReserved: Int64 = 1_024 * 1_024
  private var data = Data()

  /// - Parameter total: what the server says; nil where it says nothing.
  mutating func take(_ bytes: UnsafeRawBufferPointer, of total: Int64?) {
    guard data.isEmpty else { return unsafe data.append(contentsOf: bytes) }
    let total = Int(min(total ?? 0, Self.mostReserved))
    if total <= bytes.count {
      data = unsafe Data(bytes)
    } else {
      data.reserveCapacity(total)
      unsafe data.append(contentsOf: bytes)
    }
  }

  mutating func takeAll() -> Data {
    defer { data = Data() }
    return data
  }
}
