import HTTPTypes
import Netwatch

/// The state of one attempt of a transfer, from its beginning to libcurl's end.
struct TransferAttempt {
  /// What becomes of the response.
  enum Verdict {
    /// The head has not arrived, or another head may follow.
    case undecided
    /// The caller is asked.
    case asking
    /// The body is read and thrown away, and this request follows.
    case skipped(HTTPRequest)
    /// The body is read and thrown away, because the cache has the response.
    case replaced
    case accepted

    var isAsking: Bool { if case .asking = self { true } else { false } }
    var isSkipped: Bool {
      switch self {
      case .skipped, .replaced: true
      case .undecided, .asking, .accepted: false
      }
    }
    var isAccepted: Bool { if case .accepted = self { true } else { false } }
  }

  let began: Duration
  var verdict = Verdict.undecided
  /// The addresses of the server or of its proxy. Nil if they are not known; empty if the name has no address.
  var peers: [IPAddress]?
  /// The decoder of the body; nil if the body is delivered as it arrives.
  var decoder: BodyDecoder?
  /// The number of bytes that were thrown away.
  var skipped = 0
  /// Whether the attempt has a connection, or is making one. If not, it waits in libcurl's queue.
  var isBegun = false
  /// Whether the request was sent before libcurl got the attempt again, for a name lookup. libcurl then counts from zero.
  var wasSent = false
  /// Whether a line of a response has arrived since the request was sent last.
  var hasAnswer = false
  /// Whether libcurl has taken a part of the request's body, or its end.
  var hasSupplied = false
  /// Whether a connection was lost while it was being made. Another one may succeed.
  var hasLostConnection = false
  /// The number of name lookups.
  var lookups = 0
  /// Whether libcurl was about to look a name up.
  var isLookupDue = false
  /// Whether libcurl makes the next lookup itself, because there is nothing to look up, or because libcurl cannot be given the
  /// addresses.
  var isLeftToLibrary = false
  /// The host whose addresses are being looked up.
  var host: Authority?
  /// The time from the beginning until libcurl has got the attempt last.
  var lookupDuration = Duration.zero
}
