import HTTPTypes
import Netwatch

/// One attempt of a transfer, from its beginning to libcurl's end: what has happened to it so far.
struct TransferAttempt {
  /// What becomes of the answer.
  enum Verdict {
    /// The head has not come, or a further one may follow.
    case undecided
    /// The caller is asked.
    case asking
    /// Its body is read and thrown away.
    case skipped(HTTPRequest)
    /// Its body is read and thrown away, because the cache has the answer.
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
  /// Where the requests go: nil if that is not known, none if nobody has an address for the name.
  var peers: [IPAddress]?
  /// Nil for a body that is delivered as it comes.
  var decoder: BodyDecoder?
  /// In bytes of a body that is thrown away.
  var skipped = 0
  /// It has a connection, or is making one: it does not wait in libcurl's queue.
  var isBegun = false
  /// Some line of an answer has come to what was sent last.
  var hasAnswer = false
  /// libcurl has taken some of the body to be sent, or its end.
  var hasSupplied = false
  /// What was sent last went out over HTTP/2.
  var wasMultiplexed = false
  /// A connection that was being made is lost. Another one may succeed.
  var hasLostConnection = false
  /// How often a name was looked up.
  var lookups = 0
  /// libcurl has wanted to look a name up.
  var isLookupDue = false
  /// The next lookup is libcurl's: there is nothing to look up, or the addresses are none that it could be told.
  var isLeftToLibrary = false
  /// Whose address is waited for.
  var host: Authority?
  /// From the beginning until libcurl has got the attempt last.
  var lookupDuration = Duration.zero
}
