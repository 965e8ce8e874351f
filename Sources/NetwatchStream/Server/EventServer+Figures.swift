import Netwatch
import NetwatchEventLoop

/// Lines that only those clients get that have asked for them. They have the number of the last state.
extension EventServer {
  /// Updates the timers when a client that has asked for figures is gone, or its wish for events changes.
  func noteFigures(of client: ClientConnection) {
    if client.trafficInterval != nil { setTrafficClock() }
    if client.wifi.reporting.isWanted { askForWiFi() }
    if client.quality != nil { setQualityTimer() }
  }

  // MARK: What links carry

  func setTrafficClock() {
    let intervals = Set(clients.values.compactMap { $0.wantsEvents ? $0.trafficInterval : nil })
    guard trafficClock != nil || !intervals.isEmpty else { return }
    let clock =
      trafficClock
      ?? TrafficClock(
        on: loop, sample: { [unowned self] in newest.flatMap { sampleTraffic($0.path) } },
        tell: { [unowned self] in publish($1, every: $0) })
    trafficClock = clock
    clock.setIntervals(intervals)
  }

  private func publish(_ traffic: LinkTraffic, every interval: Duration) {
    guard var record = newest?.withoutWiFiDetails else { return }
    record.event = .traffic
    record.traffic = [traffic]
    record.setDateToNow()
    figureWriter.write(record)
    for client in clients.values where client.trafficInterval == interval && client.wantsEvents {
      finish(client, isThere: figureWriter.withLine { client.offer(passing: $0) })
    }
  }

  // MARK: How well the link works

  private var isQualityWanted: Bool { clients.values.contains { $0.wantsEvents && $0.quality != nil } }

  private func setQualityTimer() {
    guard isQualityWanted else {
      qualityTimer?.stop()
      return
    }
    let timer = qualityTimer ?? LoopTimer(on: loop) { [unowned self] in tellQuality() }
    qualityTimer = timer
    guard timer.deadline == nil else { return }
    // A client that asks, leaves and asks again causes no further sample.
    if qualityTime.map({ KernelClock.monotonic.now - $0 >= QualityMeter.interval }) ?? true {
      sampleQuality(isFirst: true)
    }
    timer.set(forNextTickEvery: QualityMeter.interval)
  }

  /// Sends the figures of the last sample to a client that has asked for them.
  ///
  /// - Returns: False if the client is gone.
  func answerQuality(_ client: ClientConnection) -> Bool {
    setQualityTimer()
    guard let quality, client.wantsEvents else { return true }
    return offer(quality, to: client, at: KernelClock.monotonic.now)
  }

  private func sampleQuality(isFirst: Bool) {
    qualityTime = KernelClock.monotonic.now
    quality = lookAtQuality(isFirst)
  }

  private func tellQuality() {
    // The timer is set first: a client that is dropped below may be the last one that asks, and stops the timer.
    qualityTimer?.set(forNextTickEvery: QualityMeter.interval)
    sampleQuality(isFirst: false)
    guard let quality else { return }
    let now = KernelClock.monotonic.now
    for client in clients.values where client.wantsEvents {
      finish(client, isThere: offer(quality, to: client, at: now))
    }
  }

  /// Sends figures to a client that has asked for them, if they are news to it.
  private func offer(_ quality: LinkQuality, to client: ClientConnection, at now: Duration) -> Bool {
    // A client that has no room now gets figures after a later sample.
    guard client.isGreeted, !client.interest.contains(.writable), quality.isOf(newest?.path.carrier),
      client.quality?.take(quality, at: now) == true,
      var record = newest?.withoutWiFiDetails
    else { return true }
    record.event = .quality
    record.quality = quality
    record.tellsQuality = true
    record.setDateToNow()
    figureWriter.write(record)
    return figureWriter.withLine { client.offer(passing: $0) }
  }

  // MARK: WiFi

  /// Passes on what clients ask of the WiFi network, and answers those that wait. If they ask too often, both happens later.
  private func askForWiFi() {
    guard wifiAllowance.take(at: KernelClock.monotonic.now) else { return setWiFiTimer() }
    answerWiFiAskers(with: setWiFiReporting())
  }

  private func setWiFiTimer() {
    let timer = wifiTimer ?? LoopTimer(on: loop) { [unowned self] in askForWiFi() }
    wifiTimer = timer
    timer.set(at: wifiAllowance.next)
  }

  private func answerWiFiAskers(with connection: WiFiConnection?) {
    wifiTimer?.stop()
    let askers = wifiAskers.compactMap { clients[$0] }
    wifiAskers = []
    for client in askers { finish(client, isThere: answer(client, with: connection)) }
  }

  private func setWiFiReporting() -> WiFiConnection? {
    let wanted = clients.values.lazy.filter(\.wantsEvents).map(\.wifi.reporting).reduce(WiFiReporting()) {
      $0.union($1)
    }
    return reportWiFi(wanted)
  }

  /// Sends the current values to a client that has changed what it asks of the WiFi network.
  ///
  /// - Returns: False if the client is gone.
  func answerWiFi(_ client: ClientConnection) -> Bool {
    guard wifiAllowance.take(at: KernelClock.monotonic.now) else {
      wifiAskers.insert(ObjectIdentifier(client))
      setWiFiTimer()
      return true
    }
    // A client that asks all the time must not take the turns of those that wait.
    wifiAskers.remove(ObjectIdentifier(client))
    let connection = setWiFiReporting()
    answerWiFiAskers(with: connection)
    return answer(client, with: connection)
  }

  private func answer(_ client: ClientConnection, with connection: WiFiConnection?) -> Bool {
    guard client.wifi.reporting.isWanted, client.wantsEvents, let connection, var record = newest,
      record.path.wifi != nil
    else { return true }
    record.path = record.path.with(connection, reason: .initial)
    record.event = .wifi
    record.setDateToNow()
    return offer(record, to: client)
  }

  func tellWiFi(_ record: EventRecord) {
    guard var state = newest else { return }
    // A client that connects now, or that has missed a state, gets that state with the current values.
    state.path = state.path.with(record.path.connection, reason: state.path.reason)
    newest = state
    writer.write(state.withoutWiFiDetails)
    for client in clients.values where client.wantsEvents && client.wifi.isNews(record) {
      finish(client, isThere: offer(record, to: client))
    }
  }

  private func offer(_ record: EventRecord, to client: ClientConnection) -> Bool {
    client.wifi.note(record)
    figureWriter.write(record.withWiFi(client.wifi.reporting))
    return figureWriter.withLine { client.offer(passing: $0) }
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
