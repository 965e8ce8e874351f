import FoundationEssentials
import HTTPTypes

/// How a session is made.
public struct HTTPSessionConfiguration: Sendable {
  /// The options of the tasks. Each call may set some of them anew.
  public var taskOptions = HTTPTaskOptions()
  /// Sent with every request that has no field of that name.
  ///
  /// `Authorization`, `Cookie` and `Proxy-Authorization` are for the origin (scheme, host and port) of the session's base URL
  /// and for ``credentialOrigins``, and are sent nowhere else. A session without a base URL sends them to the origin of each
  /// task's URL, and not to where that one redirects.
  public var headerFields = HTTPFields()
  /// The origins that may have the session's credentials beside the one of its base URL: those in ``headerFields``, those that
  /// ``requestSerializer`` adds, and the credential of ``taskOptions``. Of each URL only scheme, host and port count.
  /// Default: none.
  public var credentialOrigins: [URL] = []
  /// The `User-Agent` of every request that has none of its own. Default: `HTTPFields.userAgent()`, the name of the process and
  /// its system; nil sends none.
  public var userAgent: String? = HTTPFields.userAgent()
  /// Writes the parameters of verbs. Default: into the query, or into a body that is written like one.
  public var requestSerializer: any RequestSerializer = HTTPRequestSerializer()
  /// Makes values of the responses of calls that name no serializer and no type. Default: the body, with a status from 200 to
  /// 299.
  public var responseSerializer: any ResponseSerializer = HTTPResponseSerializer()
  /// Makes values of the types that verbs ask for. Default: a `JSONDecoder`. Do not change its settings afterwards.
  public var decoder: any DataDecoder = JSONDecoder()
  /// Change requests, and decide whether they are tried again: first those of the call, then these, in their order. Default:
  /// none.
  ///
  /// What they write into `Authorization`, `Cookie` and `Proxy-Authorization` is a credential of the session: see
  /// ``headerFields``.
  public var interceptors: [any RequestInterceptor] = []
  /// Carries the requests in the place of libcurl, for tests of an app. Default: nil. See ``ScriptedTransport`` and
  /// ``RecordedTransport``.
  public var transport: (any HTTPTransport)?
  /// Hear of all that happens to the tasks. Default: none. See also ``HTTPSessionManager/taskEvents(bufferingNewest:)``.
  public var eventObservers: [any HTTPEventObserver] = []
  /// The most connections to one host, at least 1 and at most 65,536. Default: 6. A request for which there is none waits.
  /// With HTTP/2, all requests to a host share one connection.
  public var connectionsPerHost = 6
  /// How long the route of a connection may be gone or changed before the connection is lost. Default 3 seconds; with 0 it is
  /// lost at once. Only for a session with a ``PathSource``.
  ///
  /// If the route comes back unchanged within this time, nothing has happened. Tasks on a lost connection end with `pathLost`,
  /// unless ``HTTPTaskOptions/retriesWhenReachable`` lets them start again. A connection whose local address was removed is
  /// lost without delay.
  public var pathLossGrace = Duration.seconds(3)
  /// Whether HTTP/2 is offered to https servers. Default true.
  public var allowsHTTP2 = true
  /// Whether what servers store in cookies is sent back, while the session lives. Default true.
  public var handlesCookies = true
  /// Whether compressed responses are asked for and decompressed. Default: true. A request with a field `Accept-Encoding` of
  /// its own, or with `Range`, gets its answer as the server sends it, and so does one whose answer has an encoding other
  /// than gzip, deflate, br and zstd. A compressed body that is damaged or stops before its end fails with
  /// `cannotDecodeContentData`. The field `Content-Encoding` of the response is kept in every case.
  public var acceptsCompressed = true

  public init() {}
}
