import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP
@testable import NetwatchHTTPFoundation

@Suite(.timeLimit(.minutes(5))) struct VerbTests {
  private let server: ScriptedServer
  private let session: HTTPSessionManager

  init() throws {
    server = try ScriptedServer.echoing()
    session = try HTTPSessionManager(baseURL: server.url.appending(path: "v1"))
  }

  private let parameters: StructuredValue = ["b": 2, "a": "x y"]
  private let form = "application/x-www-form-urlencoded"

  @Test func `verbs send their parameters where they belong`() async throws {
    let get: Echo = try await session.get("users", parameters: parameters)
    #expect(get == Echo(method: "GET", path: "/v1/users?a=x%20y&b=2", type: "", body: ""))
    let delete: Echo = try await session.delete("users", parameters: parameters)
    #expect(delete == Echo(method: "DELETE", path: "/v1/users?a=x%20y&b=2", type: "", body: ""))
    let post: Echo = try await session.post("users", parameters: parameters)
    #expect(post == Echo(method: "POST", path: "/v1/users", type: form, body: "a=x%20y&b=2"))
    let put: Echo = try await session.put("users", parameters: parameters)
    #expect(put == Echo(method: "PUT", path: "/v1/users", type: form, body: "a=x%20y&b=2"))
    let patch: Echo = try await session.patch("users", parameters: parameters)
    #expect(patch == Echo(method: "PATCH", path: "/v1/users", type: form, body: "a=x%20y&b=2"))
    let head = try await session.head("users", parameters: parameters)
    #expect(head.status == .ok)
  }

  @Test func `a POST without parameters says so`() async throws {
    let post: Echo = try await session.post("users")
    #expect(post == Echo(method: "POST", path: "/v1/users", type: form, body: ""))
  }

  @Test func `JSON goes out and comes back`() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.requestSerializer = JSONRequestSerializer()
    let session = try HTTPSessionManager(baseURL: session.baseURL, configuration: configuration)
    let post: Echo = try await session.post("users", parameters: ["a": [1, nil]])
    #expect(post.type == "application/json")
    #expect(post.body == #"{"a":[1,null]}"#)
    let tree = try await session.send(HTTPCall(.get, "users"), as: JSONResponseSerializer())
    #expect(tree.value?["method"]?.string == "GET")
  }

  @Test func `a refusal is an error that has what the server said`() async throws {
    let error = await #expect(throws: HTTPError.self) { let _: Echo = try await session.get("refused") }
    #expect(error?.kind == .badServerResponse)
    #expect(error?.response?.status.code == 422)
    #expect((error?.decoded as? Echo)?.path == "/v1/refused")
  }

  @Test func `callbacks get the same`() async throws {
    let echo = Box<Echo?>(nil)
    session.post("users", parameters: ["a": 1], as: DecodableResponseSerializer(Echo.self)) { result in
      echo.change { $0 = try? result.get().value }
    }
    #expect(
      try await eventually(echo.now) { $0 != nil } == Echo(method: "POST", path: "/v1/users", type: form, body: "a=1"))
    let status = Box<HTTPResponse.Status?>(nil)
    session.head("users") { result in status.change { $0 = try? result.get().status } }
    #expect(try await eventually(status.now) { $0 != nil } == .ok)
  }

  @Test func `an app puts its own error in the place of this one`() async throws {
    struct AppError: Error {
      let status: Int?
      init(_ error: HTTPError) { status = error.response?.status.code }
    }
    func user() async throws(AppError) -> Echo {
      do {
        return try await session.get("refused")
      } catch {
        throw AppError(error)
      }
    }
    let error = await #expect(throws: AppError.self) { try await user() }
    let told = Box<AppError?>(nil)
    session.get("refused", as: DecodableResponseSerializer(Echo.self)) { result in
      if case .failure(let error) = result.mapError(AppError.init) { told.change { $0 = error } }
    }
    #expect(try await eventually(told.now) { $0 != nil }?.status == error?.status && error?.status != nil)
  }

  @Test func `parameters that cannot be serialized fail the task, and no request begins`() async throws {
    struct Refusal: Error {}
    let observer = RecordingObserver()
    var configuration = HTTPSessionConfiguration()
    var serializer = HTTPRequestSerializer()
    serializer.query = { _, _ in throw Refusal() }
    configuration.requestSerializer = serializer
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration, observer: observer)
    let kinds = Box<[HTTPError.Kind]>([])
    let task = session.get("users", parameters: ["a": 1], as: HTTPResponseSerializer()) { result in
      if case .failure(let error) = result { kinds.change { $0.append(error.kind) } }
    }
    #expect(try await eventually(kinds.now) { !$0.isEmpty } == [.cannotEncodeRequest])
    #expect(task.state == .finished)
    #expect(observer.all.isEmpty)
  }

  @Test func `a form with a file arrives`() async throws {
    var form = try MultipartFormData(boundary: "frontier")
    form.append(Data("hello".utf8), name: "greeting", fileName: "hello.txt", contentType: "text/plain")
    let echo: Echo = try await session.post("upload", body: .multipart(form, parameters: ["a": 1]))
    #expect(echo.type == "multipart/form-data; boundary=frontier")
    #expect(echo.body.contains("name=\"a\"\r\n"))
    #expect(echo.body.contains("filename=\"hello.txt\""))
    #expect(echo.body.hasSuffix("hello\r\n--frontier--\r\n"))
  }

  @Test func `a place of its own is not relative to the base`() async throws {
    let echo: Echo = try await session.get(server.url.appending(path: "elsewhere").absoluteString)
    #expect(echo.path == "/elsewhere")
    let rooted: Echo = try await session.get("/rooted")
    #expect(rooted.path == "/rooted")
    let error = await #expect(throws: HTTPError.self) { let _: Echo = try await session.get("http://[::1") }
    #expect(error?.kind == .badURL)
  }
}
