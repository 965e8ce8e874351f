import HTTPTypes

/// A call together with all that it takes from its session, from which a task is made.
struct PreparedCall: Sendable {
  var request: HTTPRequest
  var body: HTTPBody?
  var shared: SharedOptions
  /// The fields that the caller has given for this request only.
  var own: HTTPFields
  var kind = HTTPTaskInfo.Kind.data
  /// The reason why nothing can be sent. The request is then empty.
  var refusal: HTTPError?

  var options: HTTPTaskOptions {
    get { shared.value }
    set { shared = SharedOptions(newValue) }
  }
}
