import Netwatch
import NetwatchEventLoop
import NetwatchFleet
import NetwatchLibC
import NetwatchMQTT
import NetwatchOptions

/// `netwatch mqtt`: tells a broker each change of this machine, and whether it is there.
struct PublishCommand {
  let options: PublishOptions

  func run() throws -> ProcessEnding {
    if options.showsID || options.makesNewID {
      let text = [UInt8]("\(try identity())\n".utf8)
      try unsafe FileDescriptor.writeAll(text.span.bytes, to: STDOUT_FILENO)
      return .exited(0)
    }
    guard !options.broker.isEmpty else {
      throw UsageError(
        "Name the broker, such as netwatch mqtt mqtts://broker.example.org; the unit has it in /etc/netwatch/mqtt.conf."
      )
    }
    guard (options.certificate == nil) == (options.key == nil) else {
      throw UsageError("--certificate and --key need each other; give both.")
    }
    let broker: MQTTBroker
    do throws(PlainError) { broker = try MQTTBroker(options.broker) } catch { throw UsageError(error.description) }
    if !broker.isEncrypted, options.authorities ?? options.certificate != nil {
      throw UsageError("mqtt:// encrypts nothing, so --ca and --certificate do nothing; write mqtts://\(broker.host).")
    }
    let password = try self.password()
    if password != nil, !broker.isEncrypted, !broker.isLocal {
      throw UsageError("mqtt:// would send the password in the clear; write mqtts://\(broker.host).")
    }
    let instance = try FleetInstance()
    if instance.isOfUnit {
      throw PlainError(
        "netwatch-mqtt.service speaks for this machine; start it with systemctl, or set STATE_DIRECTORY to a folder of your own"
      )
    }
    if let notice = instance.notice { StandardError.warn(notice) }
    var settings = MQTTConnection.Settings(
      broker: broker, clientID: "", keepAlive: min(options.silence / PublisherMachine.signs, .seconds(60)))
    settings.user = options.user ?? (password == nil ? nil : instance.machine.description)
    settings.password = password
    settings.authorities = options.authorities
    if let certificate = options.certificate, let key = options.key { settings.certificate = (certificate, key) }
    return try Publisher(options, settings, instance).run()
  }

  private func identity() throws -> MachineID {
    if options.makesNewID { return try FleetInstance(isNew: true).machine }
    // The program that speaks for the machine may run.
    if let machine = try FleetInstance.current() { return machine }
    return try FleetInstance().machine
  }

  private func password() throws -> String? {
    let passed = String(environment: "CREDENTIALS_DIRECTORY").map { "\($0)/password" }
    guard let path = options.passwordFile ?? passed.flatMap({ isThere($0) ? $0 : nil }) else { return nil }
    let most = 65_536
    guard let text = FileDescriptor.text(of: path, capacity: most) else {
      throw PlainError("cannot read the password in '\(path)': \(SystemError.last("read").message)")
    }
    guard text.utf8.count < most else { throw PlainError("the password in '\(path)' is too long") }
    let password = String(text.prefix { !$0.isNewline })
    return password.isEmpty ? nil : password
  }

  /// A credential that cannot be read is a fault, and no broker that asks for none.
  private func isThere(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 || errno != ENOENT }
}
