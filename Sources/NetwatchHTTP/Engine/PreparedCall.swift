import HTTPTypes

/// A call together with all that it takes from its session, from which a task is made.
struct PreparedCall: Sendable {
  private(set) var sharedRequest: Shared<HTTPRequest>
  let sharedBody: Shared<HTTPBody>?
  var options: HTTPTaskOptions
  /// The fields that the caller has given for this request only.
  let own: HTTPFields
  let kind: HTTPTaskInfo.Kind
  /// The reason why nothing can be sent; nil if there is none. The request is otherwise empty.
  let refusal: HTTPError?

  init(
    _ request: HTTPRequest, _ body: HTTPBody?, _ options: HTTPTaskOptions, own: HTTPFields,
    kind: HTTPTaskInfo.Kind = .data, refusal: HTTPError? = nil
  ) {
    sharedRequest = Shared(request)
    sharedBody = body.map { Shared($0) }
    self.options = options
    self.own = own
    self.kind = kind
    self.refusal = refusal
  }

  var request: HTTPRequest {
    get { sharedRequest.value }
    set { sharedRequest = Shared(newValue) }
  }

  var body: HTTPBody? { sharedBody?.value }
}
