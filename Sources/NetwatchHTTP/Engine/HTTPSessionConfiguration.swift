import FoundationEssentials
import HTTPTypes
import Netwatch

/// The settings of a session, which cannot change after the session is made.
public struct HTTPSessionConfiguration: Sendable {
  /// The default options of the session's tasks. Each call can override any of them.
  public var taskOptions = HTTPTaskOptions()
  /// The header fields that are sent with every request that has no field of that name. Default: none.
  ///
  /// `Authorization`, `Cookie` and `Proxy-Authorization` are sent only to the origin (scheme, host and port) of the session's
  /// base URL and to ``credentialOrigins``. A session without a base URL sends them to the origin of each task's URL. A redirect
  /// takes them to another origin only if ``credentialOrigins`` has it.
  public var headerFields = HTTPFields()
  /// The further origins that get the session's credentials, beside the origin of its base URL. The credentials are those in
  /// ``headerFields``, those that ``requestSerializer`` and interceptors add, and the credential of ``taskOptions``. Of each URL,
  /// only scheme, host and port count. Default: none.
  public var credentialOrigins: [URL] = []
  /// The `User-Agent` of every request that does not set its own. Nil sends none. Default: `HTTPFields.userAgent()`, the name
  /// of the process and its system.
  public var userAgent: String? = HTTPFields.userAgent()
  /// The serializer that writes the parameters of calls. Default: it writes them into the query, or into a body in the format
  /// of a query.
  public var requestSerializer: any RequestSerializer = HTTPRequestSerializer()
  /// The serializer of the responses to ``HTTPSessionManager/send(_:body:options:)``, the call without `as`. Default: it returns
  /// the body of a response with a status from 200 to 299.
  public var responseSerializer: any ResponseSerializer = HTTPResponseSerializer()
  /// The decoder of the types that calls ask for. Default: a `JSONDecoder`, and each read of the property returns a new one, so it
  /// has no effect to set a property of the returned decoder. For other settings, set a decoder of your own, and do not change it
  /// afterwards.
  public var decoder: any DataDecoder {
    get { ownDecoder ?? JSONDecoder() }
    set { ownDecoder = newValue }
  }
  /// Nil for the default. Making a `JSONDecoder` brings 200 KiB of Foundation's code into memory, and many sessions decode nothing.
  private var ownDecoder: (any DataDecoder)?
  /// The interceptors of all requests. They change requests, and decide whether failed ones are retried. The interceptors of a
  /// call come first, then these, in their order. Default: none.
  ///
  /// What interceptors write into `Authorization`, `Cookie` and `Proxy-Authorization` is a credential of the session: see
  /// ``headerFields``.
  public var interceptors: [any RequestInterceptor] = []
  /// The transport that carries the requests instead of libcurl, for tests of an app. Default: nil, libcurl. See
  /// ``ScriptedTransport`` and ``RecordedTransport``.
  public var transport: (any HTTPTransport)?
  /// The cache that stores responses, and answers requests instead of the server if ``HTTPTaskOptions/cachePolicy`` allows it.
  /// Default: nil, every request goes to its server.
  ///
  /// Every GET or HEAD request is looked up in the cache, as the interceptors have changed it, and so is the request that follows a
  /// redirect. Requests that have a `Range` or conditions (such as `If-None-Match`) go to the server. A successful request with any
  /// method except GET, HEAD, OPTIONS and TRACE removes the stored response for its URL. The cookies of a stored response are not
  /// set again.
  ///
  /// A stored response also replaces the response of a server that fails or cannot be reached, for as long as `stale-if-error`
  /// allows (RFC 5861). ``HTTPMetrics/cacheUse`` reports what the cache has done.
  public var cache: HTTPDiskCache?
  /// The observers of all events of the session's tasks. Default: none. See also
  /// ``HTTPSessionManager/taskEvents(bufferingNewest:includesBodies:)``.
  public var eventObservers: [any HTTPEventObserver] = []
  /// The most connections to one host, at least 1. A request waits while all of them are in use. More than 65,536 counts as
  /// 65,536. Default: 6.
  ///
  /// With HTTP/2, all requests to a host share one connection. If the session's ``HTTPThreads`` are several threads, each thread
  /// has a connection of its own, which the requests on that thread share.
  public var maximumConnectionsPerHost = 6
  /// The time for which the route of a connection may be gone or changed before the connection counts as lost. With 0, it is
  /// lost at once. Default: 3 seconds. It only has an effect in a session with a ``PathSource``.
  ///
  /// If the route comes back unchanged within this time, the connection continues. Tasks on a lost connection end with
  /// `pathLost`, unless ``HTTPTaskOptions/retriesWhenReachable`` lets them start again. A connection whose local address was
  /// removed is lost without delay. A task that has no connection yet and finds no path also waits for this time, but only if
  /// the network has just changed.
  public var pathLossGrace = Duration.seconds(3)
  /// The version of HTTP that is requested. Default: `http2`, which is used with https servers that support it.
  public var httpVersion = HTTPVersion.http2
  /// Whether the cookies of responses are stored while the session lives. Default: true.
  public var acceptsCookies = true
  /// Whether the session's cookies are sent: those of responses, and those of ``HTTPSessionManager/store(_:)``. Default: true.
  public var sendsCookies = true
  /// Whether cookies are both stored and sent: ``acceptsCookies`` and ``sendsCookies``. Default: true.
  public var handlesCookies: Bool {
    get { acceptsCookies && sendsCookies }
    set { (acceptsCookies, sendsCookies) = (newValue, newValue) }
  }
  /// Whether compressed responses are requested and decompressed. Default: true.
  ///
  /// A response is delivered as the server sends it if the request sets `Accept-Encoding` or `Range`, or if the encoding is not
  /// gzip, deflate, br or zstd. A compressed body that is damaged or incomplete fails with `cannotDecodeContentData`. The
  /// response always keeps its `Content-Encoding` field.
  public var acceptsCompressedResponses = true

  // MARK: Trust

  /// The security policies of single hosts, by host. Other hosts, and proxies, are judged by the policy that the session is
  /// made with. Default: none.
  ///
  /// A key is a name (`api.example.org`), an address, or a domain (`*.example.org`). A domain stands for all names beneath
  /// `example.org`, at any depth, but not for `example.org` itself. The most exact key counts. Letter case and a dot at the end
  /// do not matter, and international names are compared in the form in which they are looked up. After a redirect, the policy
  /// of the new host applies. A connection that was made under one policy is never used under another one.
  public var hostPolicies: [String: SecurityPolicy] = [:]
  /// Whether a request to a host without one of the ``hostPolicies`` fails with `serverCertificateUntrusted` before anything is
  /// sent, with or without https. A redirect to such a host fails with `badURL`. Default: false.
  public var refusesHostsWithoutPolicy = false
  /// The client certificates for servers that ask for one, by host as in ``hostPolicies``. The key `*` stands for all other
  /// hosts. Proxies are never sent one. Default: none.
  public var clientCertificates: [String: ClientCertificate] = [:]
  /// The oldest version of TLS that is accepted from servers and proxies. Default: TLS 1.2.
  public var minimumTLSVersion = TLSVersion.v1_2
  /// The newest version of TLS that is used. Default: nil, the newest one that OpenSSL supports.
  public var maximumTLSVersion: TLSVersion?

  // MARK: Connections

  /// The proxy of all requests. Default: the proxies that the environment names when the session is made.
  public var proxy = HTTPProxy.environment
  /// The path of a Unix socket to which all connections are made, whatever the host of a request is, such as
  /// `/var/run/docker.sock`. At most 107 bytes. Default: nil.
  ///
  /// Requests still contain their host, and TLS checks its name. No name is looked up, and the session never waits for a path
  /// to the network. Each request makes a connection of its own, except with ``HTTPVersion/http2PriorKnowledge``.
  ///
  /// It cannot be combined with a proxy or with ``localEndpoint``. Proxies that the environment names are ignored.
  public var unixSocketPath: String?
  /// The interface or the address from which connections leave this machine. Default: nil, the kernel chooses.
  ///
  /// If this machine does not have the interface or the address, requests fail with `cannotConnect`.
  public var localEndpoint: LocalEndpoint?
  /// The kind of traffic, which the kernel and routers on the way may prefer or defer. Default: `standard`.
  public var serviceType = HTTPServiceType.standard
  /// The most connections of the session to all hosts, at least 1. A request waits while all of them are in use. Default: nil,
  /// no limit.
  public var maximumConnections: Int?
  /// The most connections that are kept between requests, at least 1. Default: nil, which means four times
  /// ``maximumConnectionsPerHost``, and at least 64.
  public var maximumIdleConnections: Int?
  /// The time for which an idle connection can be reused, in whole seconds, rounded up. With 0, it can be reused within one
  /// second. Default: 118 seconds, as in libcurl.
  public var maximumIdleTime = Duration.seconds(118)
  /// The age up to which a connection can be reused, in whole seconds, rounded up. Default: nil, no limit.
  public var maximumConnectionAge: Duration?
  /// The interval at which the kernel probes the other end of an idle connection (TCP keep-alive, RFC 9293, section 3.8.4), in
  /// whole seconds, rounded up. Default: nil, never.
  public var keepAliveInterval: Duration?
  /// The addresses of host names that are not looked up, for tests: `["api.example.org": [InternetAddress("127.0.0.1")!]]`. A key
  /// with a port, such as `api.example.org:8443`, is for that port only. Default: none.
  ///
  /// The addresses are tried in their order. Certificates are checked for the name as always. The names of proxies are looked up in
  /// this table too. A key that is `localhost` or an address is refused with ``HTTPError/Kind/badConfiguration``.
  public var addressOverrides: [String: [InternetAddress]] = [:]

  /// Creates a configuration with the default settings.
  public init() {}
}
