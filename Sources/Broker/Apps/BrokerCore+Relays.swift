import Apps
import DequeModule
import Log
import Wire

/// What apps have sent from other partitions (``AppEffect/relay(_:)``), and what these say of deletions
/// (``DeletionRelay``). It is taken in strictly in the order in which it came: the next one is decided about when the
/// decision about the one before was given to the log. None of them waits for the disk, since decisions fail with those
/// before them.
///
/// States of a relay:
/// - waiting. Can transition to: deciding.
/// - deciding: the app is asked, or the input waits for a store. Can transition to: over (decided, refused, or to be
///   tried again in the next round), put aside.
/// - put aside until there is what the app needs (``AppDecision/Answer/later``). Can transition to: deciding, over.
///
/// All of them are forgotten with the lease.
struct RelayQueue {
  private enum Head {
    case none
    case deciding(OutboxMessage.ID)
    case putAside(OutboxMessage)
  }

  private var head = Head.none
  private var waiting: Deque<OutboxMessage> = []

  var isEmpty: Bool { waiting.isEmpty }
  /// Whether the next relay waits for nothing but the broker.
  var isBehind: Bool { if case .none = head { !waiting.isEmpty } else { false } }

  mutating func add(_ relay: OutboxMessage) { waiting.append(relay) }

  /// Takes the next relay, to be decided about; nil: there is none, or one before it is not over.
  mutating func next() -> OutboxMessage? {
    guard case .none = head, let relay = waiting.popFirst() else { return nil }
    head = .deciding(relay.id)
    return relay
  }

  /// False: the lease was lost since, and with it the relay.
  func isDeciding(_ relay: OutboxMessage) -> Bool { if case .deciding(relay.id) = head { true } else { false } }

  mutating func putAside(_ relay: OutboxMessage) { head = .putAside(relay) }

  /// Takes the relay that was put aside for an app, to be decided about.
  mutating func takeLater(of app: String) -> OutboxMessage? {
    guard case .putAside(let relay) = head, relay.app == app else { return nil }
    head = .deciding(relay.id)
    return relay
  }

  mutating func ended() { head = .none }
}

extension BrokerCore {
  /// Relays that one turn takes in: each costs about as much as a command.
  static let relaysPerTurn = 32

  /// Takes in what waits; what is more than a turn's comes with the next.
  func takeInRelays(in turn: inout Turn) {
    var left = Self.relaysPerTurn
    while left > 0, let relay = postings.relays.next() {
      left -= 1
      run(.relay(relay), in: &turn)
    }
  }

  /// Goes on with the relay that an app wanted to take in later.
  ///
  /// - Parameter error: why what it waits for will not come; nil: it is there.
  func takeInLater(of app: String, error: ClientError?, in turn: inout Turn) {
    guard let relay = postings.relays.takeLater(of: app) else { return }
    if let error {
      refuse(relay, error, in: &turn)
      postings.relays.ended()
    } else {
      run(.relay(relay), in: &turn)
    }
    takeInRelays(in: &turn)
  }

  func takeIn(_ relay: OutboxMessage, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard postings.relays.isDeciding(relay) else { return }
    do throws(ClientError) {
      if try decide(about: relay, in: &turn) { postings.relays.ended() } else { postings.relays.putAside(relay) }
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .relay(relay), in: &turn) }
      refuse(relay, error, in: &turn)
      postings.relays.ended()
    }
    // Whoever has run this input for the first time goes on by itself.
    if waiting != nil { takeInRelays(in: &turn) }
  }

  /// - Returns: false where the app wants to be asked later.
  /// - Throws: why it cannot be taken in, ``ClientError/waits`` included. Nothing has changed then.
  private func decide(about relay: OutboxMessage, in turn: inout Turn) throws(ClientError) -> Bool {
    try postings.check(relay.id)
    if relay.app == DeletionRelay.sender {
      try takeInDeletion(relay, in: &turn)
      return true
    }
    guard let app = relay.app, let host = hosts[app] else {
      throw .notAvailable.saying("the app \(relay.app ?? "") is switched off on this broker")
    }
    let requester = Requester.outbox(relay.id)
    var decision = try consult(host, for: requester, in: &turn) { (lens) throws(ClientError) in
      try host.app.receive(relay.data ?? [], lens)
    }
    if decision.answer == .later { return false }
    decision.answer = .reply([])  // For the store, which is told that the row can go.
    try carryOut(decision, of: host, for: requester, in: &turn)
    return true
  }

  /// Tells the store that a relay cannot be taken in: for now, or for good. A refusal that rests on a decision under
  /// way waits for it, and the relay is tried again where that fails.
  private func refuse(_ relay: OutboxMessage, _ error: ClientError, in turn: inout Turn) {
    let requester = Requester.outbox(relay.id)
    if error.temporary { return answer(requester, .failed(error), in: &turn) }
    tally.counters.relaysRefused += 1
    guard let host = relay.app.flatMap({ hosts[$0] }), let pending = host.lastPending else {
      return answer(requester, .failed(error), in: &turn)
    }
    pending.waiting.append(WaitingAnswer(requester, .response(.failed(error)), failures: host.failures))
  }
}
