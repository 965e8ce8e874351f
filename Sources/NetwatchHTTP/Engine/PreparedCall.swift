import HTTPTypes

/// A call with all that it takes from its session: what a task is made of.
struct PreparedCall: Sendable {
  var request: HTTPRequest
  var body: HTTPBody?
  var shared: SharedOptions
  /// The fields that the caller has given for this request alone.
  var own: HTTPFields
  var kind = HTTPTaskInfo.Kind.data
  /// Why there is nothing to send. Then the request is none.
  var refusal: HTTPError?

  var options: HTTPTaskOptions {
    get { shared.value }
    set { shared = SharedOptions(newValue) }
  }
}
