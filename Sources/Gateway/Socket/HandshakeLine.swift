import DequeModule
import Wire

/// Whose turn it is to begin a TLS handshake, of those on one event loop: pure.
///
/// A handshake costs a processor as much as some hundred messages, and its client chooses when. After a network was
/// away thousands come at once, all of them honest, so nobody is turned away: they wait in line.
/// - So many handshakes may be under way, in all and of one address: from a client's first bytes to its last.
/// - An event loop begins one of them and then looks at its other sockets, so that those who are in are served.
/// - Addresses take turns: one from which thousands wait costs another the time of one handshake.
///
/// The line ends where that of connections does: who waits in it is one of `server.max_handshakes`, and its time is
/// `server.header_timeout`.
struct HandshakeLine {
  struct Limits: Equatable {
    var all = Int.max
    var address = Int.max
  }

  private struct Owner: Hashable {
    /// Nil for clients that are not counted by address: they take turns as one.
    var address: IPAddress?
  }

  private struct Handshakes {
    var underWay = 0
    /// Handshakes in the order in which they came. Those that have left meanwhile are passed over.
    var waiting: Deque<UInt64> = []
    /// How many of ``waiting`` have left.
    var left = 0
    var isInTurn = false

    var waitingCount: Int { waiting.count - left }
    var isWaited: Bool { waitingCount > 0 }
  }

  private struct Place {
    let owner: Owner
    var isUnderWay = false
  }

  /// Handshakes begun before the event loop looks at its other sockets. One costs half a millisecond, with large keys
  /// several.
  private let perTurn: Int

  private let limits: Limits
  private var places: [UInt64: Place] = [:]
  private var owners: [Owner: Handshakes] = [:]
  /// Owners, in turn, for whom a handshake waits and whose own limit lets it begin.
  private var turns: Deque<Owner> = []
  private(set) var underWay = 0
  private var begun = 0

  init(_ limits: Limits, perTurn: Int = 1) {
    self.limits = limits
    self.perTurn = perTurn
  }

  /// Owners of whom something is known.
  var ownerCount: Int { owners.count }

  /// Whether as many handshakes have begun as may before the event loop looks at its other sockets.
  var wantsTurn: Bool { begun >= perTurn }

  /// A client's first bytes are there. Its handshake begins when ``next()`` says so.
  ///
  /// - Parameter address: nil where the client is not counted by address.
  /// - Returns: the limit for which the client has to wait; nil: it waits for its turn alone.
  mutating func arrive(_ id: UInt64, from address: IPAddress?) -> RefusalCause? {
    let owner = Owner(address: address?.limited)
    places[id] = Place(owner: owner)
    var handshakes = owners[owner] ?? Handshakes()
    handshakes.waiting.append(id)
    // Handshakes of its address before it in line count too: they will be under way when it is this one's turn.
    let cause: RefusalCause? =
      owner.address != nil && handshakes.underWay + handshakes.waitingCount > limits.address
      ? .addressTLSHandshakes : underWay + handshakes.waitingCount > limits.all ? .tlsHandshakes : nil
    owners[owner] = handshakes
    lineUp(owner)
    return cause
  }

  /// The next handshake to begin, which counts as under way from here on; nil: none may now. Call it until it says nil.
  mutating func next() -> UInt64? {
    guard begun < perTurn, underWay < limits.all else { return nil }
    while let owner = turns.popFirst() {
      owners[owner]?.isInTurn = false
      guard let id = takeFirst(of: owner) else {
        tidy(owner)
        continue
      }
      places[id]?.isUnderWay = true
      owners[owner]?.underWay += 1
      underWay += 1
      begun += 1
      // The owner's next handshake stands behind those of all others.
      lineUp(owner)
      return id
    }
    return nil
  }

  /// The event loop has looked at its other sockets.
  mutating func turned() { begun = 0 }

  /// The handshake is over, well or not, or the client has gone while it waited.
  mutating func end(_ id: UInt64) {
    guard let place = places.removeValue(forKey: id), var handshakes = owners[place.owner] else { return }
    if place.isUnderWay {
      underWay -= 1
      handshakes.underWay -= 1
    } else {
      handshakes.left += 1
      if handshakes.left > 32, handshakes.left * 2 > handshakes.waiting.count {
        handshakes.waiting.removeAll { places[$0]?.isUnderWay != false }
        handshakes.left = 0
      }
    }
    owners[place.owner] = handshakes
    lineUp(place.owner)
    tidy(place.owner)
  }

  private func isAtLimit(_ owner: Owner, _ handshakes: Handshakes) -> Bool {
    owner.address != nil && handshakes.underWay >= limits.address
  }

  private mutating func lineUp(_ owner: Owner) {
    guard let handshakes = owners[owner], handshakes.isWaited, !handshakes.isInTurn, !isAtLimit(owner, handshakes)
    else { return }
    owners[owner]?.isInTurn = true
    turns.append(owner)
  }

  private mutating func takeFirst(of owner: Owner) -> UInt64? {
    guard var handshakes = owners[owner] else { return nil }
    defer { owners[owner] = handshakes }
    while let id = handshakes.waiting.popFirst() {
      if places[id] != nil { return id }
      handshakes.left -= 1
    }
    return nil
  }

  private mutating func tidy(_ owner: Owner) {
    guard let handshakes = owners[owner], handshakes.underWay == 0, !handshakes.isWaited, !handshakes.isInTurn
    else { return }
    owners[owner] = nil
  }
}
