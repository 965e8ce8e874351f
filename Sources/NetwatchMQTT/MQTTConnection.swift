import CLibMosquitto
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A connection to an MQTT broker (MQTT 3.1.1) by libmosquitto, on a thread of its own, because libmosquitto waits for name servers and
/// for the first packet. It is used once: after a disconnection, there is a new one.
package final class MQTTConnection: Sendable {
  package struct Settings: Sendable {
    package var broker: MQTTBroker
    package var clientID: String
    package var user: String?
    package var password: String?
    /// The file or folder of the authorities that are trusted. Default: nil, those of the system.
    package var authorities: String?
    /// The files of the client's certificate and of its key.
    package var certificate: (file: String, key: String)?
    /// The time without a packet after which the client asks the broker whether it is there.
    package var keepAlive: Duration
    package var will: Message?

    package init(broker: MQTTBroker, clientID: String, keepAlive: Duration) {
      (self.broker, self.clientID, self.keepAlive) = (broker, clientID, keepAlive)
    }
  }

  package struct Message: Sendable {
    package var topic: String
    package var payload: [UInt8]
    /// Whether the broker acknowledges it, and keeps it for those that come later.
    package var isRetained: Bool
    /// 0, at most once, or 1, at least once.
    package var quality: CInt

    package init(topic: String, payload: [UInt8], isRetained: Bool = true, quality: CInt = 1) {
      (self.topic, self.payload, self.isRetained, self.quality) = (topic, payload, isRetained, quality)
    }
  }

  package enum Event: Sendable {
    case connected
    /// The connection is over, for a reason in words. Nothing comes afterwards.
    case disconnected(String)
    /// The broker has a message of quality 1.
    case acknowledged(CInt)
  }

  private let settings: Settings
  private let report: @Sendable (Event) -> Void
  /// Nil before the connection, and after it.
  private let client = Lock<Client?>(nil)
  /// Whether no event is reported any more.
  private let isSilent = Lock(false)
  /// The thread of the connection; nil before it, and when it is about to end.
  private let thread = Lock<pthread_t?>(nil)

  /// Begins to connect.
  ///
  /// - Parameter report: The closure that gets each event, on the connection's thread.
  /// - Throws: A `SystemError` if the system has no room for a thread.
  package init(_ settings: Settings, report: @escaping @Sendable (Event) -> Void) throws(SystemError) {
    (self.settings, self.report) = (settings, report)
    _ = Self.library
    try BackgroundThread.start(name: "netwatch-mqtt") { [self] in run() }
  }

  private static let library: Void = { _ = mosquitto_lib_init() }()

  // MARK: The other threads

  /// Publishes a message.
  ///
  /// - Returns: The number by which its acknowledgement is told; nil if the connection is over.
  @discardableResult
  package func publish(_ message: Message) -> CInt? { client.withLock { $0 }?.publish(message) }

  /// Ends the connection after what was published. The broker forgets the will.
  package func close() { client.withLock { $0 }?.close() }

  /// Gives the connection up, whatever it waits for. No event is reported any more.
  package func abandon() {
    isSilent.withLock { $0 = true }
    client.withLock { $0 }?.breakOff()
  }

  /// Has a connection that is not there yet go on to the next address of the broker's name. Does nothing if there is none.
  ///
  /// libmosquitto waits for one address after the other, for the two minutes that the kernel sends a silent one its first packet again. A
  /// signal ends that wait with EINTR, and libmosquitto takes this for a failure of the address.
  package func tryNextAddress() {
    thread.withLock { if let thread = $0 { pthread_kill(thread, Self.interruption) } }
  }

  // MARK: The thread of the connection

  private static let interruption = SIGUSR2

  private func run() {
    acceptInterruptions()
    thread.withLock { $0 = pthread_self() }
    let reason = connect()
    thread.withLock { $0 = nil }
    client.withLock { $0 = nil }
    tell(.disconnected(reason))
  }

  private func acceptInterruptions() {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in }
    // Without SA_RESTART, with which connect(2) would go on.
    unsafe sigaction(Self.interruption, &action, nil)
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, Self.interruption)
    unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  /// Connects, and returns when the connection is over.
  ///
  /// - Returns: Why it is over.
  private func connect() -> String {
    guard let client = unsafe Client(settings, Unmanaged.passUnretained(self).toOpaque()) else {
      return "libmosquitto cannot begin: \(SystemError.last("mosquitto_new").message)"
    }
    self.client.withLock { $0 = client }
    if let fault = client.setSecurity(settings) { return fault }
    var code = client.connect(settings)
    while code == .success, !isSilent.withLock({ $0 }) { code = client.loop() }
    let reason = refusal.withLock { $0 } ?? (code == .notConnected ? "the connection is closed" : code.words)
    return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }

  /// Why the broker has refused the connection, or TLS has failed; nil if neither is so.
  private let refusal = Lock<String?>(nil)

  fileprivate func failed(_ words: String) {
    // The first of several sentences of OpenSSL is the cause.
    refusal.withLock { $0 = $0 ?? words }
  }

  fileprivate func tell(_ event: Event) {
    let isUnwanted = isSilent.withLock { isSilent in
      defer { if case .disconnected = event { isSilent = true } }
      return isSilent
    }
    if !isUnwanted { report(event) }
  }

  /// CONNACK's codes 4 and 5, of which brokers choose either for a wrong password (MQTT 3.1.1, 3.2.2.3).
  private static let badLogin: CInt = 4
  private static let notAuthorised: CInt = 5

  fileprivate func answered(_ code: CInt) {
    switch code {
    case 0: tell(.connected)
    case Self.badLogin, Self.notAuthorised:
      let login = settings.user.map { "the login \($0), or its password" } ?? "a client without a login"
      failed("the broker refuses \(login)")
    default: failed("the broker refuses: \(unsafe String(cString: mosquitto_connack_string(code)))")
    }
  }
}

/// A result of libmosquitto.
private struct Outcome: Hashable {
  var code: CInt

  static let success = Outcome(code: CInt(MOSQ_ERR_SUCCESS.rawValue))
  static let notConnected = Outcome(code: CInt(MOSQ_ERR_NO_CONN.rawValue))

  var words: String {
    switch code {
    // See MQTTConnection.tryNextAddress().
    case CInt(MOSQ_ERR_ERRNO.rawValue) where errno == EINTR: "it does not answer within five seconds; is its port open?"
    case CInt(MOSQ_ERR_ERRNO.rawValue): SystemError.last("connect").message
    case CInt(MOSQ_ERR_EAI.rawValue): "the name of the broker is not known"
    // Debian 12's libmosquitto has no words for it.
    case CInt(MOSQ_ERR_KEEPALIVE.rawValue): "the broker does not answer any more"
    default: unsafe String(cString: mosquitto_strerror(code))
    }
  }
}

/// libmosquitto's object.
///
/// `@unchecked`: libmosquitto locks it, because of mosquitto_threaded_set.
@safe private final class Client: @unchecked Sendable {
  /// The time that libmosquitto waits for packets before it looks at its own timers, in milliseconds.
  private static let interval: CInt = 1_000

  private let pointer: OpaquePointer

  /// - Parameter context: The connection, which outlives this object's callbacks.
  init?(_ settings: MQTTConnection.Settings, _ context: UnsafeMutableRawPointer) {
    guard let pointer = unsafe mosquitto_new(settings.clientID, true, context) else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe mosquitto_threaded_set(pointer, true)
    // Who publishes has a window of its own.
    unsafe mosquitto_max_inflight_messages_set(pointer, 0)
    if let will = settings.will {
      unsafe mosquitto_will_set(
        pointer, will.topic, CInt(clamping: will.payload.count), will.payload, will.quality, will.isRetained)
    }
    if let user = settings.user { unsafe mosquitto_username_pw_set(pointer, user, settings.password) }
    setCallbacks()
    hearErrors()
  }

  deinit { unsafe mosquitto_destroy(pointer) }

  /// - Returns: What is wrong; nil if that is nothing.
  func setSecurity(_ settings: MQTTConnection.Settings) -> String? {
    guard settings.broker.isEncrypted else { return nil }
    if settings.authorities == nil { unsafe mosquitto_int_option(pointer, MOSQ_OPT_TLS_USE_OS_CERTS, 1) }
    guard settings.authorities != nil || settings.certificate != nil else { return nil }
    // With a certificate of the client, libmosquitto needs a place of authorities, also if OpenSSL knows its own.
    let place = settings.authorities ?? "/etc/ssl/certs"
    for file in [place, settings.certificate?.file, settings.certificate?.key] {
      guard let file else { continue }
      guard unsafe access(file, R_OK) == 0 else { return "cannot read \(file): \(SystemError.last("access").message)" }
    }
    var facts = stat()
    guard unsafe stat(place, &facts) == 0 else { return "cannot read \(place): \(SystemError.last("stat").message)" }
    let isFolder = facts.st_mode & S_IFMT == S_IFDIR
    let code = unsafe mosquitto_tls_set(
      pointer, isFolder ? nil : place, isFolder ? place : nil, settings.certificate?.file, settings.certificate?.key,
      nil)
    guard code == Outcome.success.code else { return "the certificates cannot be used: \(Outcome(code: code).words)" }
    return nil
  }

  func connect(_ settings: MQTTConnection.Settings) -> Outcome {
    let seconds = CInt(clamping: settings.keepAlive.components.seconds)
    return Outcome(code: unsafe mosquitto_connect(pointer, settings.broker.host, settings.broker.port, seconds))
  }

  /// Reads and writes what there is, and waits for more.
  func loop() -> Outcome { Outcome(code: unsafe mosquitto_loop(pointer, Self.interval, 1)) }

  func publish(_ message: MQTTConnection.Message) -> CInt? {
    var number: CInt = 0
    let code = unsafe mosquitto_publish(
      pointer, &number, message.topic, CInt(clamping: message.payload.count), message.payload, message.quality,
      message.isRetained)
    return code == Outcome.success.code ? number : nil
  }

  func close() { unsafe mosquitto_disconnect(pointer) }

  func breakOff() {
    let socket = unsafe mosquitto_socket(pointer)
    if socket >= 0 { shutdown(socket, CInt(SHUT_RDWR)) }
  }

  private func setCallbacks() {
    unsafe mosquitto_connect_callback_set(pointer) { _, context, code in unsafe Client.owner(context)?.answered(code) }
    unsafe mosquitto_publish_callback_set(pointer) { _, context, number in
      unsafe Client.owner(context)?.tell(.acknowledged(number))
    }
  }

  /// libmosquitto writes OpenSSL's words to its log only.
  private func hearErrors() {
    unsafe mosquitto_log_callback_set(pointer) { _, context, level, text in
      guard level == MOSQ_LOG_ERR, let text = unsafe text.map({ unsafe String(cString: $0) }), text.contains("SSL")
      else { return }
      // OpenSSL says the same for another authority and for another name.
      let advice = text.contains("verify failed") ? "; is its authority in --ca, and the broker's name in it?" : ""
      unsafe Client.owner(context)?.failed("TLS: \(text.split(separator: ":").last ?? "")\(advice)")
    }
  }

  private static func owner(_ context: UnsafeMutableRawPointer?) -> MQTTConnection? {
    unsafe context.map { unsafe Unmanaged<MQTTConnection>.fromOpaque($0).takeUnretainedValue() }
  }
}
