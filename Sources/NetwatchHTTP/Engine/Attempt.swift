import HTTPTypes
import Netwatch

/// One exchange of a request with its server, or with what answers in the server's place. It reports to its delegate until it ends
/// or is closed. Belongs to the loop.
protocol Attempt: AnyObject {
  /// The complete head of the last response. Nil if there is none yet.
  var head: ResponseHead? { get }
  /// The fields after the body; nil if there are none.
  var trailers: HTTPFields? { get }
  var metrics: HTTPMetrics { get }
  /// The body of the request, which another attempt can send if it can be made again.
  var source: (any BodySource)? { get }
  /// Whether the attempt has a connection, or is making one. If not, it waits for one of the session's connections.
  var isBegun: Bool { get }
  /// Whether a part of the response has come.
  var hasAnswer: Bool { get }
  /// Whether the server may have got a part of the request. Nil if that is not known.
  var hasSent: Bool? { get }
  /// The addresses of the server, or of its proxy, to which connections were made. Nil if they are not known.
  var peers: [InternetAddress]? { get }
  /// Whether a connection was lost while it was being made, and no other one is there.
  var hasLostConnection: Bool { get }

  /// Begins. Called once.
  func start() throws(HTTPError)
  func pause()
  /// Continues after a pause, or when the delegate can take more of the body.
  func proceed()
  /// Breaks the attempt off if it has not ended, and gives back what it holds. It reports nothing more.
  func close()
  /// Takes the addresses that the attempt has asked for.
  func lookedUp(_ answer: NameLookups.Answer)
  /// Takes note of lost connections.
  ///
  /// - Returns: The peer, if the connection of this attempt is among them.
  func loses(_ lost: [(socket: CInt, connection: Connection)]) -> InternetAddress?
}

/// What an ``Attempt`` asks and reports. Except for the end of the attempt and the need of addresses, it is called from within
/// libcurl: it neither begins nor closes an attempt then.
protocol AttemptDelegate: AnyObject {
  var now: Duration { get }
  /// Whether nothing is to be sent or delivered.
  var isSuspended: Bool { get }
  /// Whether somebody decides about the request or its response, so that nothing is to be delivered.
  var isAsking: Bool { get }
  /// Whether nobody has decided yet what becomes of the response. Afterwards only trailers come.
  var isUndecided: Bool { get }
  /// The reason why the task fails. Nil if it goes on.
  var failure: HTTPError? { get set }
  /// What was sent, and what was delivered.
  var progress: HTTPProgress { get }

  /// Something has moved: the request has got a connection, or bytes have come or gone.
  func hasMoved()
  /// The number of bytes of the body that were sent so far.
  func sent(_ count: Int64)
  /// Decides what becomes of a response.
  ///
  /// - Returns: False if the attempt has to be broken off, because ``failure`` is set.
  func received(_ head: ResponseHead?) -> Bool
  func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance
  /// The addresses of a host are needed: ``Attempt/lookedUp(_:)`` follows.
  func lookUp(_ host: Authority)
  /// libcurl gets the addresses of a host, and keeps them for the requests that follow.
  func uses(_ addresses: [InternetAddress], of host: Authority)
  /// The addresses that were asked for are not needed any more.
  func dropLookup()
  /// The attempt is over.
  ///
  /// - Parameters:
  ///   - isComplete: Whether the whole response has come.
  ///   - failure: The reason why it has not, unless ``failure`` says why. Nil also if the delegate has refused the rest.
  func ended(isComplete: Bool, _ failure: HTTPError?)
}
