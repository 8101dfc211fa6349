import Apps
import Log
import Wire

/// What the broker itself keeps in a store: apps' records and revocations; and the end of a store.
extension BrokerCore {
  func loadRecords(of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    do throws(ClientError) {
      while let question = host.question {
        let stale = host.loaded(try load(question, of: disk, in: &turn), at: turn.time.monotonic)
        for place in stale { refreshLater(place, of: host, at: turn.time.monotonic) }
      }
    } catch {
      if !turn.missing.isEmpty { park(waiting, .loadRecords(host), in: &turn) }
    }
  }

  /// What could not be loaded is tried again.
  func loadAgain(in turn: inout Turn) {
    if hasLostStore { return }
    for host in hosts {
      if let question = host.question, !room.isAsked(question) { run(.loadRecords(host), in: &turn) }
    }
    if let log = revocations, !log.isLoaded, !room.isAsked(RevocationLog.question) { run(.loadRevocations, in: &turn) }
  }

  // MARK: A store that is lost

  /// Somebody else keeps the channels now. Whatever is held of them may be wrong from here on: those who wait are told
  /// that it is not known what became of what they asked for, and gateways begin anew and ask for their channels again,
  /// wherever those are kept.
  ///
  /// What was published and not answered for comes back from the store by itself, as failed.
  func storeIsLost(in turn: inout Turn) {
    hasLostStore = true
    for host in hosts {
      resume(host.app.name, error: clientError(for: .fenced), in: &turn)
      host.lost()
    }
    revocations?.lost()
    for link in links.sorted { overflow(link.gateway, in: &turn) }
    for name in channels.keys.sorted() {
      guard let state = channels[name], state.store === disk else { continue }
      for link in links.sorted { link.channels.remove(name) }
      forget(state)
    }
  }

  func storeIsBack(in turn: inout Turn) {
    hasLostStore = false
    loadAgain(in: &turn)
  }
}
