import NetwatchEventLoop
import NetwatchOptions

/// `netwatch-mqtt`: what `netwatch mqtt` does, in a separate program, so that netwatch itself does not load libmosquitto.
@main
enum NetwatchMQTTCommand {
  static func main() {
    SignalSource.prepareProgram()
    let words = [String].ofCommandLine()
    // It may also be started by its own name.
    let rest = words.first == Command.mqtt.rawValue ? Array(words.dropFirst()) : words
    Program.run(rest, PublishOptions.options, for: .mqtt, changing: PublishOptions()) {
      try PublishCommand(options: $0.values).run()
    }
  }
}
