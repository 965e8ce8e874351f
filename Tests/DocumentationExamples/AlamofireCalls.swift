import Dispatch
import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchHTTPFoundation
import NetwatchNetlink

/// The calls in `contrib/examples/parity/Alamofire.md`, which are compiled here.
struct AlamofireCalls {
  let api: HTTPSessionManager
  let monitor: NetworkMonitor
  let base: URL
  let file: URL
  let folder: URL
  let data: Data
  let request: HTTPRequest
  let queue: DispatchQueue

  // MARK: Session

  func session(_ policy: SecurityPolicy, _ token: BearerToken) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.interceptors = [RetryInterceptor()]
    configuration.interceptors = [BearerTokenInterceptor(token) { _ in try await self.newToken() }]
    let authenticator = BearerTokenInterceptor(
      token, scheme: "Token", maximumRefreshes: 2, window: .seconds(60),
      isRefusal: { $0.response?.status == .forbidden }
    ) { _ in try await self.newToken() }
    var retry = RetryInterceptor()
    retry.backoffBase = 3
    configuration.interceptors = [authenticator, retry]
    configuration.eventObservers = [EventPrinter()]
    configuration.hostPolicies = ["api.example.org": policy]
    configuration.refusesHostsWithoutPolicy = true
    configuration.taskOptions.onRedirect = { _ in nil }
    configuration.taskOptions.onCaching = { request, response in response }
    configuration.taskOptions.executor = HTTPExecutor { [queue] in queue.async(execute: $0) }
    configuration.headerFields = [.acceptLanguage: "de"]
    configuration.userAgent = HTTPFields.userAgent(name: "Example", version: "1.0")
    configuration.requestSerializer = CompressedRequestSerializer(base: JSONRequestSerializer(), minimumLength: 4_096)
    var compressed = CompressedRequestSerializer()
    compressed.duplicateHeaderBehavior = .fail
    compressed.duplicateHeaderBehavior = .replace
    compressed.shouldCompress = { request, body in body.contentType == "text/plain" }
    configuration.requestSerializer = compressed
    _ = try HTTPSessionManager()
    return try HTTPSessionManager(baseURL: base, configuration: configuration, observer: nil, path: monitor)
  }

  func newToken() async throws -> BearerToken { BearerToken("456", expiration: .now.addingTimeInterval(3_600)) }

  func requests(_ filter: User, _ resumeData: ResumeData) async throws {
    print(try await api.send("users", as: [User].self).value)
    print(try await api.send(HTTPCall(.get, "users", parameters: .encoding(filter)), as: [User].self).value)
    print(try await api.send("users", body: .json(filter), as: User.self).value)
    print(try await api.upload(.data(data), with: "photos").response.status)
    print(try await api.upload(.file(file), with: "photos").response.status)
    print(try await api.upload(.stream(length: nil) { [file] in InputStream(url: file) }, with: "logs").response.status)
    print(try await api.download("report.pdf", to: .file(file, replacesExisting: true)).value)
    print(try await api.download("report.pdf", to: .suggested(in: folder)).value)
    let reply = try await api.download("report.pdf", to: .file(file, createsFolders: true))
    print(try await reply.serialized(as: User.self).value.name)
    print(try await reply.serialized(as: TextResponseSerializer()).value)
    print(try await api.resumableDownload("report.pdf", to: file, resumeData: resumeData).value)
    for task in await api.tasks() { print(task.id, task.state, task.info.label ?? "") }
    api.cancelAll()
  }

  // MARK: Request

  func tasks(_ task: HTTPTask, _ other: HTTPTask) async throws {
    task.resume()
    task.suspend()
    task.cancel()
    print(task.id, task.request, task.state, task === other)
    for await progress in task.progressUpdates() { print(progress.sent, progress.received) }
    for await state in task.states { print(state) }
    print(task.progress.fraction ?? 0, task.progress)
    let tree = HTTPProgressTree()
    tree.add(task)
    tree.add(other, weight: 2)
    for await progress in tree.progressUpdates() { print(progress) }
    for await event in api.taskEvents() where event.task.id == task.id { print(event.kind) }
    for await event in api.taskEvents() {
      if case .serialized(let result, let duration, let serializer) = event.kind { print(result, duration, serializer) }
    }
    print(task.description)
    print(try await api.cURLDescription(of: "users", body: .json(["name": "Ali"])))
  }

  @MainActor func foundation(_ task: HTTPTask, _ whole: Progress) {
    let progress = task.foundationProgress(on: HTTPExecutor(on: MainActor.shared))
    whole.addChild(progress, withPendingUnitCount: 1)
    print(progress.fractionCompleted)
  }

  func options() -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.credential = HTTPCredential(user: "ali", password: "secret")
    options.onProgress = { print($0.sent, $0.totalToSend ?? 0, $0.received, $0.totalToReceive ?? 0) }
    options.onRedirect = { $0.count < 3 ? $0.next : nil }
    options.onCaching = { _, _ in nil }
    options.retriesWhenReachable = true
    options.reachabilityTimeout = .seconds(5)
    options.requiredMedia = [.wifi]
    options.requiredMedia = Set(Medium.allCases).subtracting([.wwan])
    options.allowsExpensivePath = false
    options.interceptors = [RetryInterceptor()]
    options.maximumRetries = 3
    options.timeout = .seconds(20)
    return options
  }

  func replies() async throws {
    let reply = try await api.send("users/1", as: User.self)
    print(reply.value.name, reply.response.status, reply.request, reply.metrics.total, reply.metrics.furtherAttempts)
    print(reply.description, reply.debugDescription, reply.serializationDuration ?? .zero)
    print(reply.allMetrics.map(\.total), reply.allMetrics.first?.total ?? .zero)
    print(try await api.data(for: "users/1").value.count)
    print(try await api.send("users/1").response.headerFields)
    print(try await api.send("motd", as: TextResponseSerializer()).value)
    print(try await api.send("motd", as: TextResponseSerializer().map(\.count)).value)
    print(try await api.send("users/1", as: JSONResponseSerializer()).value?["name"] ?? .null)
    api.send("users/1", as: DecodableResponseSerializer(User.self)) { print($0) }
    print(try await api.get("users/9", as: User?.self)?.name ?? "nobody")
  }

  func streams() async throws {
    let stream = try await api.stream("log")
    guard stream.response.status == .ok else { return }
    for try await part in stream.body { print(part.count) }
    for try await line in stream.lines { print(line) }
    for try await user in stream.values(as: User.self) { print(user.name) }
    for try await event in api.serverSentEvents(from: "events") { print(event.type, event.data) }
  }

  func pause() {
    let download = api.resumableDownload("report.pdf", to: file) { print($0) }
    download.resume()
    download.cancel(keepsFiles: true)
    print(download.resumeData?.offset ?? 0)
  }

  // MARK: Parameters

  func parameters(_ filter: User) throws {
    var encoder = URLEncodedFormEncoder()
    encoder.arrays = .indexInBrackets
    encoder.booleans = .literal
    encoder.dates = .secondsSince1970
    encoder.keys = .snakeCase
    encoder.keyPaths = .dots
    encoder.nils = .omitted
    encoder.data = .base64
    encoder.spaces = .plus
    encoder.allowedCharacters.insert(":")
    encoder.sortsKeys = false
    print(try encoder.encode(filter))
    encoder.keyPaths = .custom { name, key in "\(name):\(key)" }
    encoder.nils = .custom { name in name == "since" ? "never" : nil }
    _ = try HTTPBody.json(filter, encoder: JSONEncoder())
    _ = try HTTPBody.form(filter, encoder: encoder)
    _ = try StructuredValue(encoding: filter)
    var serializer = HTTPRequestSerializer()
    serializer.encoder = encoder
    serializer.queryMethods = [.get, .head, .delete]
    try serializer.setBasicAuthorization(user: "ali", password: "secret")
    _ = JSONRequestSerializer()
    var fields = HTTPFields.standard()
    fields[.authorization] = "Bearer 123"
    fields[values: .accept] = ["application/json", "text/plain"]
    _ = HTTPRequest.Method.patch
  }

  func forms() async throws {
    var form = MultipartFormData()
    form.append(data, name: "photo", fileName: "photo.png", contentType: "image/png")
    try form.append(file: file, name: "photo")
    try form.append(.stream(length: 1_024) { [file] in InputStream(url: file) }, name: "log", fileName: "app.log")
    try form.append(.data(data), headerFields: [.contentType: "text/plain"])
    print(form.boundary)
    let body = try form.body(parameters: ["public": true])
    print(body.contentType ?? "", body.length ?? 0)
    print(try await form.body().data().count)
    print(try await form.write(to: file).length ?? 0)
    print(try await api.upload(.multipart(form), with: "photos").response.status)
  }

  // MARK: Validation and errors

  func validation(_ response: HTTPResponse) throws {
    _ = HTTPResponseSerializer(validation: ResponseValidation(statusCodes: [200, 404], contentTypes: ["text/*"]))
    _ = HTTPResponseSerializer(validation: ResponseValidation(statusCodes: nil))
    print(try TaggedResponseSerializer().serialize(response, body: data, request: request))
    _ = TextEncoding("latin1")
    print(response.suggestedFilename(for: request))
    do {
      print(try place())
    } catch {
      if error.kind == .cancelled { return }
      print(error.kind, error.response?.status.code ?? 0, error.body?.count ?? 0, error.underlying ?? error)
      print(error.problem?.title ?? "", error.tlsFailure?.reason ?? .unknownAuthority)
    }
  }

  /// Replaces an error of netwatch by an error of the app, as Alamofire's `mapError` does.
  func user(_ body: @escaping @Sendable (Result<HTTPReply<User>, AppError>) -> Void) async throws(AppError) -> User {
    api.send("users/1", as: DecodableResponseSerializer(User.self)) { result in
      body(result.mapError(AppError.init))
    }
    do {
      return try await api.get("users/1")
    } catch {
      throw AppError(error)
    }
  }

  private func place() throws(HTTPError) -> URL { try api.url(for: "users/1") }

  // MARK: Trust

  func trust() throws {
    let pins = try X509Certificate.load(folder)
    _ = try SecurityPolicy(.none, validatesDomainName: false)
    _ = try SecurityPolicy(.certificate, pins: pins)
    let policy = try SecurityPolicy(.publicKey, pins: pins, keyPins: [PublicKeyPin(pins[0])])
    _ = try SecurityPolicy(.none, allowsInvalidCertificates: true, validatesDomainName: false)
    _ = try SecurityPolicy(.publicKey, pins: pins, roots: .certificates(pins))
    _ = try SecurityPolicy(.none, revocationLists: RevocationList.load(file))
    _ = try SecurityPolicy(.none) { chain, host in
      guard chain.count > 1 else { throw HTTPError(.serverCertificateUntrusted, "check", message: "\(host) is alone") }
    }
    try policy.evaluate(pins, for: "api.example.org")
  }

  // MARK: Reachability

  @MainActor func reachability() throws {
    let monitor = try NetworkMonitor.start(target: NetworkTarget("api.example.org"))
    print(monitor.currentPath.isReachable, monitor.currentPath.isExpensive)
    print(monitor.currentPath.status == .wwan, monitor.currentPath.status == .wifi, monitor.currentPath.status)
    let subscription = monitor.onChange { print($0.status) }
    subscription.cancel()
  }
}

/// An endpoint of an API, like Alamofire's `URLRequestConvertible`.
enum Route: RequestConvertible {
  case user(Int)

  func makeCall() throws(HTTPError) -> HTTPCall {
    switch self {
    case .user(let id): HTTPCall(.get, "users/\(id)")
    }
  }
}

/// An interceptor that signs requests and retries a conflict once, like Alamofire's `RequestAdapter` and
/// `RequestRetrier`.
struct Signature: RequestInterceptor {
  func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest {
    var request = request
    request.headerFields[.init("X-Signature")!] = "\(task.id)"
    return request
  }

  func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision {
    failure.retries == 0 && failure.response?.status == .conflict ? .retry(after: .seconds(1)) : .next
  }
}

/// A decoder that drops the five bytes that a server writes before its JSON, like Alamofire's `DataPreprocessor`.
struct GuardedDecoder: DataDecoder {
  func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value {
    try JSONDecoder().decode(type, from: body.dropFirst(5))
  }
}

/// An error of an app.
struct AppError: Error {
  let words: String
  init(_ error: HTTPError) { words = "\(error.kind)" }
}

/// A serializer that refuses a response without an entity tag, like Alamofire's `validate(_:)` with a closure.
struct TaggedResponseSerializer: ResponseSerializer {
  func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Data {
    let body = try HTTPResponseSerializer().serialize(response, body: body, request: request)
    guard response.headerFields[.eTag] != nil else { throw HTTPError(.badServerResponse, "check the tag") }
    return body
  }
}
