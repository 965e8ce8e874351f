import FoundationEssentials
import HTTPTypes
import Netwatch

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
  /// Keeps the answers of servers, and answers requests in their place, as ``HTTPTaskOptions/cachePolicy`` says. Default: nil, every
  /// request goes to its server.
  ///
  /// GET and HEAD are looked up after the interceptors have changed them, and so is each request that a redirect leads to.
  /// Requests with a `Range` or with conditions of their own (`If-None-Match` and the like) go to the server. A request with
  /// another method removes the answer for its URL if it succeeds. Cookies of a stored answer are not set again.
  ///
  /// A stored answer also stands in for a server that fails or cannot be reached, for as long as `stale-if-error` allows (RFC
  /// 5861). ``HTTPMetrics/cacheUse`` tells what the cache has done.
  public var cache: HTTPDiskCache?
  /// Hear of all that happens to the tasks. Default: none. See also ``HTTPSessionManager/taskEvents(bufferingNewest:)``.
  public var eventObservers: [any HTTPEventObserver] = []
  /// The most connections to one host, at least 1. Above 65,536 counts as that. Default: 6. A request for which there is none
  /// waits.
  /// With HTTP/2, all requests to a host share one connection; on each thread, if the session has several ``HTTPThreads``.
  public var maximumConnectionsPerHost = 6
  /// How long the route of a connection may be gone or changed before the connection is lost. Default 3 seconds; with 0 it is
  /// lost at once. Only for a session with a ``PathSource``.
  ///
  /// If the route comes back unchanged within this time, nothing has happened. Tasks on a lost connection end with `pathLost`,
  /// unless ``HTTPTaskOptions/retriesWhenReachable`` lets them start again. A connection whose local address was removed is
  /// lost without delay.
  public var pathLossGrace = Duration.seconds(3)
  /// The version of HTTP that is asked for. Default: `http2`, with https servers that speak it.
  public var httpVersion = HTTPVersion.http2
  /// Whether what servers store in cookies is sent back, while the session lives. Default true.
  public var handlesCookies = true
  /// Whether compressed responses are asked for and decompressed. Default: true. A request with a field `Accept-Encoding` of
  /// its own, or with `Range`, gets its answer as the server sends it, and so does one whose answer has an encoding other
  /// than gzip, deflate, br and zstd. A compressed body that is damaged or stops before its end fails with
  /// `cannotDecodeContentData`. The field `Content-Encoding` of the response is kept in every case.
  public var acceptsCompressedResponses = true

  // MARK: Trust

  /// The policies of hosts that have one of their own, by host. The other hosts, and proxies, are judged by the policy that the session
  /// is made with. Default: none.
  ///
  /// A key is a name (`api.example.org`), an address, or a domain (`*.example.org`): all names beneath `example.org`, at any
  /// depth, but not `example.org` itself. The most exact key counts. Letter case and a dot at the end do not matter, and
  /// international names are compared as they are looked up. A redirect is judged by the policy of the host that it leads to,
  /// and a connection that was made under one policy is never used under another.
  public var hostPolicies: [String: SecurityPolicy] = [:]
  /// Whether a request to a host without one of the ``hostPolicies`` fails with `serverCertificateUntrusted`, with https or
  /// without, before anything is sent. Default: false. A redirect to such a host fails with `badURL`.
  public var refusesHostsWithoutPolicy = false
  /// With what the session names itself to servers that ask for a client certificate, by host as in ``hostPolicies``; `*` stands
  /// for all other hosts. Proxies are never shown one. Default: none.
  public var clientCertificates: [String: ClientCertificate] = [:]
  /// The oldest version of TLS that is spoken with servers and proxies. Default: TLS 1.2.
  public var minimumTLSVersion = TLSVersion.v1_2
  /// The newest version of TLS that is spoken. Default: nil, the newest one that OpenSSL knows.
  public var maximumTLSVersion: TLSVersion?

  // MARK: Connections

  /// The proxy of all requests. Default: what the environment says when the session is made.
  public var proxy = HTTPProxy.environment
  /// The path of a Unix socket to which all connections are made, whatever the host of a request is: `/var/run/docker.sock`. At
  /// most 107 bytes. Default: nil.
  ///
  /// The host still stands in the request, and TLS checks its name. Nothing is looked up, and a session like this never waits for
  /// a path to the network.
  ///
  /// Only without a proxy and without ``localEndpoint``; what the environment says of proxies does not count.
  public var unixSocketPath: String?
  /// The interface or the address from which connections leave this machine. Default: nil, the kernel chooses.
  ///
  /// If there is no such interface or address, requests fail with `cannotConnect`.
  public var localEndpoint: LocalEndpoint?
  /// The most connections of the session to all hosts, at least 1. A request for which there is none waits. Default: nil, no
  /// limit.
  public var maximumConnections: Int?
  /// The most connections that are kept between requests, at least 1. Default: nil, four times ``maximumConnectionsPerHost``, and
  /// at least 64.
  public var maximumIdleConnections: Int?
  /// How long a connection may have been idle to be used again, in whole seconds, rounded up. Default: 118 seconds, as libcurl
  /// has it. With 0, it is used again within a second.
  public var maximumIdleTime = Duration.seconds(118)
  /// How old a connection may be to be used again, in whole seconds, rounded up. Default: nil, no limit.
  public var maximumConnectionAge: Duration?
  /// How often the kernel asks the other end of an idle connection whether it is still there (TCP keep-alive, RFC 9293, section
  /// 3.8.4), in whole seconds, rounded up. Default: nil, never.
  public var keepAliveInterval: Duration?
  /// The addresses of host names that are not looked up, for tests: `["api.example.org": [IPAddress("127.0.0.1")!]]`. A key may
  /// have a port, `api.example.org:8443`, and is then for that port alone. Default: none.
  ///
  /// The addresses are tried in their order. Certificates are checked for the name, as always. Names of proxies are found here
  /// too; `localhost` and addresses are not.
  public var addressOverrides: [String: [IPAddress]] = [:]

  public init() {}
}
