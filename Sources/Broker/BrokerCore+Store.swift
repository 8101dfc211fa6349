import Apps
import Log
import Wire

/// What the broker itself keeps in a store (apps' records and revocations), and what it does when another broker takes
/// the store over.
extension BrokerCore {
  func loadRecords(of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    do throws(ClientError) {
      while let question = host.question {
        let stale = host.loaded(try stores.load(question, of: stores.disk, in: &turn), at: turn.time)
        for place in stale { refreshLater(place, of: host, at: turn.time.monotonic) }
      }
    } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .loadRecords(host), in: &turn) }
    }
  }

  /// Asks again for records and revocations that could not be loaded.
  func loadAgain(in turn: inout Turn) {
    if stores.isLost { return }
    for host in hosts.all {
      if let question = host.question, !stores.isAsked(question) { run(.loadRecords(host), in: &turn) }
    }
    if let log = revocations, !log.isLoaded, !stores.isAsked(RevocationLog.question) {
      run(.loadRevocations, in: &turn)
    }
    loadNoticesAgain(in: &turn)
    if let webhooks, !webhooks.isLoaded, !webhooks.isLoading(stores.isAsked) { run(.loadWebhooks, in: &turn) }
    if let deletions, !deletions.isLoaded, !stores.isAsked(UserDeletions.question) {
      run(.loadDeletions, in: &turn)
    }
  }

  // MARK: A store that is lost

  /// Another broker keeps the channels on disk now. Whatever is held of them in memory may be wrong from here on:
  /// commands that were put aside are answered with an error, and all links are reset, so that gateways ask for their
  /// channels again, wherever those are kept.
  ///
  /// For entries that are under way the store answers by itself: they fail.
  func storeIsLost(in turn: inout Turn) {
    stores.isLost = true
    stores.lostTerm = stores.disk.term
    postings = OutboxPostings()  // Whoever has the lease next reads the table from its beginning.
    for host in hosts.all {
      resume(host.app.name, error: LogError.fenced.asClientError, in: &turn)
      host.lost()
    }
    revocations?.lost()
    webhooks?.lost()
    notices?.lost(at: turn.time.monotonic)
    deletions?.lost()
    for link in links.all { links.overflow(link, in: &turn) }
    forgetChannels(in: stores.disk)
  }

  private func forgetChannels(in store: any LogStore) {
    for state in channels.sorted where state.store === store {
      for link in links.all { link.channels.remove(state.name) }
      channels.forget(state)
    }
  }

  func storeIsBack(in turn: inout Turn) {
    stores.isLost = false
    // Channels in memory were another broker's meanwhile, unless nobody has had the lease in between.
    if stores.disk.term > stores.lostTerm + 1 {
      forgetChannels(in: stores.memory)
      (stores.memory as? MemoryStore)?.forgetAll()
    }
    loadAgain(in: &turn)
    welcomeLateGateways(in: &turn)
  }
}
