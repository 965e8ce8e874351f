import HTTPTypes

/// A call together with all that it takes from its session, from which a task is made.
struct PreparedCall: Sendable {
  private(set) var sharedRequest: SharedRequest
  var body: HTTPBody?
  private(set) var sharedOptions: SharedOptions
  /// The fields that the caller has given for this request only.
  let own: HTTPFields
  let kind: HTTPTaskInfo.Kind
  /// The reason why nothing can be sent; nil if there is none. The request is otherwise empty.
  let refusal: HTTPError?

  init(
    _ request: HTTPRequest, _ body: HTTPBody?, _ options: SharedOptions, own: HTTPFields,
    kind: HTTPTaskInfo.Kind = .data,
    refusal: HTTPError? = nil
  ) {
    sharedRequest = SharedRequest(request)
    self.body = body
    sharedOptions = options
    self.own = own
    self.kind = kind
    self.refusal = refusal
  }

  var request: HTTPRequest {
    get { sharedRequest.value }
    set { sharedRequest = SharedRequest(newValue) }
  }

  var options: HTTPTaskOptions {
    get { sharedOptions.value }
    set { sharedOptions = SharedOptions(newValue) }
  }
}
