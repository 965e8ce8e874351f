import Dispatch
import Foundation
import HTTPTypes
import Netwatch
import NetwatchHTTP
import NetwatchHTTPFoundation
import NetwatchNetlink

/// The calls in `contrib/examples/parity/AFNetworking.md`, which are compiled here.
struct AFNetworkingCalls {
  let api: HTTPSessionManager
  let monitor: NetworkMonitor
  let base: URL
  let file: URL
  let folder: URL
  let data: Data
  let request: HTTPRequest

  // MARK: AFURLSessionManager

  func sessions(_ policy: SecurityPolicy, _ certificate: ClientCertificate) throws {
    var configuration = HTTPSessionConfiguration()
    configuration.requestSerializer = JSONRequestSerializer()
    configuration.responseSerializer = JSONResponseSerializer()
    configuration.hostPolicies["api.example.org"] = policy
    configuration.clientCertificates["api.example.org"] = certificate
    configuration.handlesCookies = false
    configuration.sendsCookies = false
    configuration.acceptsCookies = false
    configuration.serviceType = .background
    configuration.httpVersion = .http2
    configuration.localEndpoint = .interface("eth0")
    configuration.eventObservers = [EventPrinter()]
    configuration.cache = try HTTPDiskCache(folder: folder)
    _ = try HTTPSessionManager(configuration: configuration)
    _ = try HTTPSessionManager(baseURL: base, configuration: configuration)
    _ = try HTTPSessionManager(baseURL: base, policy: policy)
    _ = try HTTPSessionManager(baseURL: base, path: monitor)
    print(api.baseURL?.host() ?? "")
  }

  func background(_ options: inout HTTPTaskOptions) async throws {
    let background = try HTTPSessionManager.background("models")
    _ = try await background.downloadTask(request, to: file)
    _ = try await background.uploadTask(request, from: try .file(file))
    _ = await background.tasks()
    options.allowsRepetition = true
    var conditions = BackgroundConditions()
    conditions.earliestBegin = Date(timeIntervalSinceNow: 3_600)
    _ = try await background.downloadTask(request, to: file, conditions: .discretionary)
    for await end in background.finishedEvents { print(end.result) }
    await background.waitUntilFinished()
  }

  func end() async {
    api.invalidate()
    api.finishTasksAndInvalidate()
    await api.waitUntilInvalidated()
  }

  func list() async {
    print(await api.tasks().count)
    for task in await api.tasks(of: .upload) { task.cancel() }
    for await event in api.taskEvents() { print(event.task.id, event.kind) }
  }

  func options(_ queue: DispatchQueue, _ group: DispatchGroup, _ credential: HTTPCredential) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor { queue.async(execute: $0) }
    options.executor = HTTPExecutor { job in queue.async(group: group) { job() } }
    options.onProgress = { print($0.sent, $0.received) }
    options.onChallenge = { $0.failures == 0 ? credential : nil }
    options.onChallenge = { challenge in
      guard challenge.offers.contains(where: { $0.scheme == "digest" }) else {
        throw HTTPError(.cancelled, "ask for a password")
      }
      return HTTPCredential(user: "ali", password: "open sesame", scheme: .digest)
    }
    options.credential = .negotiate
    options.onRedirect = { $0.count < 3 ? $0.next : nil }
    options.timeout = .seconds(20)
    options.cachePolicy = .prefersCache
    options.cachePolicy = .ignoresAllCaches
    options.onCaching = { $1.status == .ok ? $1 : nil }
    return options
  }

  func tasks(_ resumeData: ResumeData) throws {
    api.dataTask(request) { print($0) }.resume()
    api.uploadTask(request, from: .data(data)) { print($0) }.resume()
    api.uploadTask(request, from: try .file(file)) { print($0) }.resume()
    api.uploadTask(request, from: .stream(length: nil) { [file] in InputStream(url: file) }) { print($0) }.resume()
    api.downloadTask(request, to: .named { [folder] in folder.appending(path: $0.suggestedFilename()) }) { print($0) }
      .resume()
    let download = api.resumableDownload(request, to: file, resumeData: resumeData) { print($0) }
    download.resume()
    print(download.resumeData?.offset ?? 0)
  }

  func follow(_ task: HTTPTask) async throws {
    print(task.progress.sent, task.progress.totalToSend ?? 0)
    for await progress in task.progressUpdates() { print(progress.received) }
    for await state in task.states { print(state) }
    let stream = try await api.stream(request)
    for try await part in stream.body { print(part.count) }
    _ = try await api.download(request, to: .file(file, replacesExisting: true))
  }

  @MainActor func foundation(_ task: HTTPTask, _ whole: Progress) {
    let progress = task.foundationProgress(on: HTTPExecutor(on: MainActor.shared))
    whole.addChild(progress, withPendingUnitCount: 1)
  }

  // MARK: AFHTTPSessionManager

  func verbs(_ form: MultipartFormData) throws {
    let json = JSONResponseSerializer()
    api.get("users", parameters: ["page": 2], headerFields: [.acceptLanguage: "de"], as: json) { print($0) }
    api.head("users/1") { print($0) }
    api.post("users", parameters: ["name": "Ali"], as: json) { print($0) }
    api.post("photos", body: try .multipart(form), as: json) { print($0) }
    api.put("users/1", parameters: ["name": "Ali"], as: json) { print($0) }
    api.patch("users/1", parameters: ["name": "Ali"], as: json) { print($0) }
    api.delete("users/1", as: json) { print($0) }
    api.send(HTTPCall(.init("REPORT")!, "users", parameters: ["since": 7]), as: json) { print($0) }
  }

  // MARK: Requests

  func requests(_ parameters: StructuredValue) throws {
    var serializer = HTTPRequestSerializer()
    serializer.headerFields[.accept] = "application/json"
    try serializer.setBasicAuthorization(user: "ali", password: "secret")
    serializer.removeAuthorization()
    serializer.queryMethods = [.get, .head]
    serializer.query = { request, parameters in "q=1" }
    let (request, body) = try serializer.serialize(self.request, url: base, parameters: parameters)
    print(request, body)
    print(try URLEncodedFormEncoder().encode(parameters))
    print(URLEncodedFormEncoder.escape("a b"))
    _ = JSONRequestSerializer(options: .prettyPrinted)
    _ = PropertyListRequestSerializer(format: .binary)
  }

  func forms() async throws {
    var form = MultipartFormData()
    try form.append(file: file, name: "photo")
    try form.append(file: file, name: "photo", fileName: "photo.png", contentType: "image/png")
    try form.append(.stream(length: 1_024) { [file] in InputStream(url: file) }, name: "log", fileName: "app.log")
    form.append(data, name: "photo", fileName: "photo.png", contentType: "image/png")
    form.append(data, name: "note")
    try form.append(.data(data), headerFields: [.contentType: "text/plain"])
    form.throttle(packetSize: 16_384, delay: .milliseconds(200))
    _ = HTTPCall(.put, "photos", body: try .multipart(form))
    let body = try await form.write(to: file)
    print(body.length ?? 0)
  }

  // MARK: Responses

  func responses(_ response: HTTPResponse) throws {
    var serializer = HTTPResponseSerializer()
    serializer.validation = ResponseValidation(statusCodes: [200, 404], contentTypes: ["application/*"])
    try serializer.validation.check(response, body: data, request: nil)
    print(try serializer.serialize(response, body: data, request: nil))
    _ = TextResponseSerializer(fallback: .windows1252)
    _ = JSONResponseSerializer(options: .fragmentsAllowed, removesKeysWithNullValues: true)
    _ = XMLResponseSerializer().map { _ in "parsed" }
    _ = XMLDocumentResponseSerializer { try $0.nodes(forXPath: "//title").count }
    _ = PropertyListResponseSerializer()
    _ = ImageResponseSerializer()
    _ = CompoundResponseSerializer<StructuredValue?>([JSONResponseSerializer(), PropertyListResponseSerializer()])
  }

  func failures(_ error: HTTPError) {
    if error.kind == .cannotEncodeRequest { print(error.message) }
    print(error.response?.status.code ?? 0, error.body?.count ?? 0)
  }

  // MARK: Trust

  func trust() throws {
    let pins = try X509Certificate.load(folder)
    let policy = try SecurityPolicy(.publicKey, pins: pins)
    _ = SecurityPolicy.system
    _ = try SecurityPolicy(.certificate, pins: pins, allowsInvalidCertificates: true)
    _ = try SecurityPolicy(.none, validatesDomainName: false)
    try policy.evaluate(pins, for: "api.example.org")
  }

  // MARK: Reachability and activity

  @MainActor func reachability() throws {
    let monitor = try NetworkMonitor.start()
    _ = try NetworkMonitor.start(target: NetworkTarget("api.example.org"))
    _ = try NetworkMonitor.start(target: NetworkTarget("10.1.2.3"))
    print(monitor.currentPath.status, monitor.currentPath.isReachable)
    print(monitor.currentPath.status == .wwan, monitor.currentPath.status == .wifi)
    print(monitor.currentPath.status.rawValue)
    let subscription = monitor.onChange { print($0.status) }
    subscription.cancel()
  }

  @MainActor func activity() {
    let activity = ActivityIndicator()
    activity.isEnabled = true
    activity.configuration.activationDelay = .seconds(1)
    activity.configuration.completionDelay = .milliseconds(170)
    let request = activity.begin("upload")
    request.end()
    print(activity.isVisible)
    _ = activity.onVisibilityChange { print($0) }
  }

  // MARK: Images

  func images(_ scaled: EncodedImage, _ own: any DownloadCache<CachedReply<EncodedImage>>) async throws {
    typealias Images = Downloader<ImageResponseSerializer>
    let cache = Images.Cache(capacity: 100_000_000, preferredAfterPurge: 60_000_000)
    let images = Images(session: api, as: ImageResponseSerializer(), limit: 4, order: .lastInFirstOut, cache: cache)
    _ = Images(session: api, as: ImageResponseSerializer(), cache: own)
    let receipt = images.download(request) { print($0) }
    images.cancel(receipt)
    print(try await images.value(for: request, policy: .revalidates).value.header.width)
    print(cache.usage, cache.value(for: CachedResource(request))?.reply.value.data.count ?? 0)
    cache.remove(CachedResource(request))
    cache.removeAll()
    if let kept = cache.value(for: CachedResource(request)) {
      cache.insert(kept.with(scaled), for: CachedResource(request, identifier: "small"))
    }
    cache.insert(CachedReply(scaled, to: request), for: CachedResource(request))
    let others = AutoPurgingCache<String, EncodedImage>()
    if let image = others.value(for: "1.png") { others.insert(image, for: "2.png") }
  }
}

/// An observer that prints the end of each task of a session.
struct EventPrinter: HTTPEventObserver {
  func handle(_ event: HTTPEvent) {
    if case .serialized(let result, _, let serializer) = event.kind { print(result, serializer) }
    guard case .finished(let result, let metrics, let body) = event.kind else { return }
    print(event.task.label ?? "", result, metrics.total, body.data?.count ?? 0, body.file?.path ?? "")
  }
}
