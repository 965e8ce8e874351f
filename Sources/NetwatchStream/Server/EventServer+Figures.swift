import Netwatch
import NetwatchEventLoop

/// Lines that only those clients get that have asked for them. They have the number of the last state.
extension EventServer {
  /// What all clients together ask for. It is computed at the end of a turn of the loop if a client has changed what it asks for,
  /// and not for each message.
  struct Wishes {
    /// The clients that get traffic, by interval.
    var traffic: [Duration: [ClientConnection]] = [:]
    /// The clients that get the quality of the link.
    var quality: [ClientConnection] = []
    var wifi = WiFiReporting()

    init() {}

    init(of clients: some Sequence<ClientConnection>) {
      for client in clients where client.wantsEvents {
        if let interval = client.trafficInterval { traffic[interval, default: []].append(client) }
        if client.quality != nil { quality.append(client) }
        wifi = wifi.union(client.wifi.reporting)
      }
    }
  }

  /// Does what clients have newly asked for, once for all messages of this turn of the loop.
  func fulfilWishes() {
    wishes = Wishes(of: clients.values)
    provider.sampleTraffic(every: Set(wishes.traffic.keys))
    answerQuality(provider.sampleQuality(!wishes.quality.isEmpty))
    askForWiFi()
  }

  // MARK: What links carry

  /// Sends the traffic of the link to the clients with this interval.
  package func publish(_ traffic: LinkTraffic, every interval: Duration) {
    guard var record = newest?.withoutWiFiDetails, let readers = wishes.traffic[interval] else { return }
    record.event = .traffic
    record.traffic = [traffic]
    record.setDateToNow()
    figureWriter.write(record)
    for client in readers { finish(client, isThere: figureWriter.withLine { client.offer(passing: $0) }) }
  }

  // MARK: How well the link works

  /// Sends the quality of the link to the clients that have asked for it.
  package func publish(_ quality: LinkQuality) { offer(quality, to: wishes.quality) }

  /// Sends the figures of the last sample to the clients that have newly asked for them.
  private func answerQuality(_ quality: LinkQuality?) {
    let askers = qualityAskers.compactMap { clients[$0] }
    qualityAskers = []
    if let quality { offer(quality, to: askers) }
  }

  /// Sends figures to clients that have asked for them, if they are news to them.
  private func offer(_ quality: LinkQuality, to readers: [ClientConnection]) {
    guard !readers.isEmpty, quality.isOf(newest?.path.carrier), var record = newest?.withoutWiFiDetails else { return }
    record.event = .quality
    record.quality = quality
    record.tellsQuality = true
    record.setDateToNow()
    figureWriter.write(record)
    let now = loop.now
    // A client that has no room now gets figures after a later sample.
    for client in readers where client.wantsEvents && client.isGreeted && !client.interest.contains(.writable) {
      guard client.quality?.take(quality, at: now) == true else { continue }
      finish(client, isThere: figureWriter.withLine { client.offer(passing: $0) })
    }
  }

  // MARK: WiFi

  /// Passes on what clients ask of the WiFi network, and answers those that have newly asked. A driver may be asked for that, and
  /// the service waits for it. So if clients ask too often, both happens later.
  private func askForWiFi() {
    let askers = wifiAskers.compactMap { clients[$0] }.filter { $0.wantsEvents && $0.wifi.reporting.isWanted }
    guard wishes.wifi != reportedWiFi || !askers.isEmpty else {
      wifiAskers = []
      return
    }
    let now = loop.now
    guard wifiLimit.allows(at: now) else {
      let timer = wifiTimer ?? LoopTimer(on: loop) { [unowned self] in askForWiFi() }
      wifiTimer = timer
      return timer.set(at: wifiLimit.next)
    }
    wifiLimit.take(at: now)
    reportedWiFi = wishes.wifi
    wifiAskers = []
    guard let connection = provider.report(wishes.wifi), !askers.isEmpty, var record = newest, record.path.wifi != nil
    else {
      return
    }
    record.path = record.path.with(connection, reason: .initial)
    record.event = .wifi
    record.setDateToNow()
    offer(record, to: askers)
  }

  func tellWiFi(_ record: EventRecord) {
    guard var state = newest else { return }
    // A client that connects now, or that has missed a state, gets that state with the current values.
    state.path = state.path.with(record.path.connection, reason: state.path.reason)
    newest = state
    writer.write(state.withoutWiFiDetails)
    offer(record, to: clients.values.filter { $0.wantsEvents && $0.wifi.isNews(record) })
  }

  /// Sends a record about the WiFi network to clients, to each what it has asked for.
  private func offer(_ record: EventRecord, to readers: [ClientConnection]) {
    var lines: [WiFiReporting: [UInt8]] = [:]
    for client in readers {
      let reporting = client.wifi.reporting
      client.wifi.note(record)
      let line = lines[reporting] ?? line(record.withWiFi(reporting))
      lines[reporting] = line
      finish(client, isThere: unsafe client.offer(passing: line.span.bytes))
    }
  }

  /// Returns a record as a line.
  func line(_ record: EventRecord) -> [UInt8] {
    figureWriter.write(record)
    return figureWriter.line
  }
}

extension EventRecord {
  /// Returns the record with only those values of the WiFi network that were asked for.
  func withWiFi(_ reporting: WiFiReporting) -> EventRecord {
    var record = self
    record.path = path.with(reporting.part(of: path.connection), reason: path.reason)
    return record
  }

  /// The record for a client that has not asked for values of the WiFi network.
  var withoutWiFiDetails: EventRecord { path.wifi == nil ? self : withWiFi(WiFiReporting()) }
}
