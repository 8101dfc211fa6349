internal import Synchronization
internal import Wire

/// A map as ``RealtimeClient`` keeps it in step, whatever its values are.
protocol MapKeeper: Sendable {
  func handle(_ event: SubscriptionEvent)
  func take(_ contents: MapContents)
}

/// What a map channel holds, written by the client and read by whoever subscribed.
final class MapBox<Value: Decodable & Sendable>: MapKeeper {
  private struct State {
    var view: MapView<Value>
    var watchers: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var lastWatcher: UInt64 = 0
  }

  private let state: Mutex<State>

  init(order: MapOrder, isReversed: Bool) {
    state = Mutex(State(view: MapView(order: order, isReversed: isReversed)))
  }

  var view: MapView<Value> { state.withLock { $0.view } }

  /// A stream that says that there is something new: once for all that happens until its reader looks.
  func watch() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
    let id: UInt64? = state.withLock { state in
      if case .ended = state.view.state { return nil }
      state.lastWatcher += 1
      state.watchers[state.lastWatcher] = continuation
      return state.lastWatcher
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) } }
    return stream
  }

  func handle(_ event: SubscriptionEvent) {
    switch event {
    case .publication(let publication):
      let value = value(of: publication)
      change { $0.apply(publication, value: value) }
    case .subscribing: change { $0.state = .reading }
    case .unsubscribed(let code): change { $0.state = .ended(code) }
    // The view is not changed before its contents are whole.
    case .subscribed, .gap, .join, .leave: break
    }
  }

  func take(_ contents: MapContents) {
    let state = contents.state.map { ($0, value(of: $0)) }
    let changes = contents.changes.map { ($0, value(of: $0)) }
    change { view in
      if contents.isWhole { view.replace(with: state) }
      for (publication, value) in changes { view.apply(publication, value: value) }
      view.state = .live
    }
  }

  private func value(of publication: Publication) -> Value? {
    publication.change?.removed == true ? nil : try? JSON.decode(Value.self, publication.data)
  }

  /// Watchers are told outside of the lock: what ends one takes the lock.
  private func change(_ body: (inout MapView<Value>) -> Void) {
    let (watchers, hasEnded) = state.withLock { state in
      body(&state.view)
      let watchers = Array(state.watchers.values)
      guard case .ended = state.view.state else { return (watchers, false) }
      state.watchers = [:]
      return (watchers, true)
    }
    for watcher in watchers {
      watcher.yield()
      if hasEnded { watcher.finish() }
    }
  }
}
