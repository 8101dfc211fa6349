import Synchronization
import Wire
import ZeroMQ

/// ``Admission`` for all threads, with the clock.
final class Gatekeeper: Sendable {
  private let admission: Mutex<Admission>
  private let proxies: [AddressRange]
  private let clock: @Sendable () -> Int64

  init(
    _ limits: AdmissionLimits, proxies: [AddressRange] = [],
    clock: @escaping @Sendable () -> Int64 = { Int64(MonotonicClock.now() / 1_000_000) }
  ) {
    admission = Mutex(Admission(limits))
    self.proxies = proxies
    self.clock = clock
  }

  /// Whether the address is that of a trusted proxy, which is believed about whom it speaks for.
  func trusts(_ address: IPAddress) -> Bool { proxies.contains { $0.contains(address) } }

  /// - Parameter peer: the other end of the socket; nil where the system does not tell.
  func open(_ peer: IPAddress?, counters: ListenerCounters) -> Result<ConnectionSlot, Refused> {
    let isProxy = peer.map(trusts) ?? false
    let refusal = admission.withLock { $0.open(isProxy ? nil : peer, at: clock()) }
    if let refusal { return .failure(Refused(cause: refusal)) }
    return .success(ConnectionSlot(self, counters, peer: peer, isProxy: isProxy))
  }

  fileprivate func identify(_ address: IPAddress, _ stage: Admission.Stage) -> RefusalCause? {
    admission.withLock { $0.identify(address, stage, at: clock()) }
  }

  fileprivate func move(_ address: IPAddress?, from old: Admission.Stage, to new: Admission.Stage) {
    admission.withLock { $0.move(address, from: old, to: new) }
  }

  fileprivate func close(_ address: IPAddress?, _ stage: Admission.Stage) {
    admission.withLock { $0.close(address, stage) }
  }

  fileprivate func signIn(_ address: IPAddress?) -> Int64? { admission.withLock { $0.signIn(address, at: clock()) } }
}

struct Refused: Error, Equatable {
  var cause: RefusalCause
}

/// One place among the open connections, and what is known of whose it is. It is given back when the channel is closed,
/// and at the latest when the last reference goes, so that no path on which setting up a channel fails can lose a
/// place.
final class ConnectionSlot: Sendable {
  private struct State {
    /// Whom the connection counts for; nil: only a proxy is known.
    var client: IPAddress?
    var stage = Admission.Stage.handshake
    var isGivenBack = false
  }

  private let gatekeeper: Gatekeeper
  private let counters: ListenerCounters
  private let peer: IPAddress?
  /// The peer is a proxy that may say whom it speaks for.
  let isProxied: Bool
  private let state: Mutex<State>

  fileprivate init(_ gatekeeper: Gatekeeper, _ counters: ListenerCounters, peer: IPAddress?, isProxy: Bool) {
    self.gatekeeper = gatekeeper
    self.counters = counters
    self.peer = peer
    isProxied = isProxy
    state = Mutex(State(client: isProxy ? nil : peer))
    counters.countOpened()
  }

  deinit { giveBack() }

  /// The connection is closed. Any number of calls.
  func giveBack() {
    let last = state.withLock { state -> State? in
      defer { state.isGivenBack = true }
      return state.isGivenBack ? nil : state
    }
    guard let last else { return }
    gatekeeper.close(last.client, last.stage)
    counters.returnSlot(signedIn: last.stage == .signedIn)
  }

  /// Whom the connection counts for; nil while only a proxy is known.
  var client: IPAddress? { state.withLock(\.client) }

  /// The client's address, or the proxy's where that has not said whose it is.
  var address: IPAddress? { state.withLock(\.client) ?? peer }

  /// Whether another proxy before the one that has spoken may be asked, in `X-Forwarded-For`.
  var takesForwardedAddress: Bool { isProxied && state.withLock { $0.client == nil } }

  /// A proxy has said whose connection this is. Once.
  ///
  /// - Returns: why it is not let in; it then counts for nobody.
  func identify(_ address: IPAddress) -> RefusalCause? {
    let now = state.withLock { $0 }
    guard now.client == nil, !now.isGivenBack else { return nil }
    if let cause = gatekeeper.identify(address, now.stage) { return cause }
    state.withLock { $0.client = address }
    return nil
  }

  /// The request has come whole.
  func handshakeEnded() { rise(to: .unsigned) }

  func signedIn() { rise(to: .signedIn) }

  /// As ``Admission/signIn(_:at:)``.
  func signInDelay() -> Int64? { gatekeeper.signIn(state.withLock(\.client)) }

  private func rise(to stage: Admission.Stage) {
    let old = state.withLock { state -> State? in
      guard stage.rawValue > state.stage.rawValue, !state.isGivenBack else { return nil }
      defer { state.stage = stage }
      return state
    }
    guard let old else { return }
    gatekeeper.move(old.client, from: old.stage, to: stage)
    if stage == .signedIn { counters.enterSignedIn() }
  }
}
