public import Wire

/// How many connections there may be, in all and of one address, before and after they have signed in.
///
/// What is asked of a connection rises step by step, and so does what it may take. One that has only been accepted
/// costs its owner nothing, so there are few places for those; one that has signed in belongs to somebody. No address
/// may have more than a share of any kind, so that whoever fills theirs leaves the others' to the others.
public struct AdmissionLimits: Sendable {
  public struct Places: Sendable, Equatable {
    /// Connections of any kind.
    public var connections: Int
    /// Connections that have not signed in; those in a handshake are among them.
    public var unsigned: Int
    /// Connections whose request has not come whole; those in a TLS handshake are among them.
    public var handshakes: Int
    /// TLS handshakes that may be under way: more wait for their turn (``HandshakeLine``).
    public var tlsHandshakes: Int

    public init(connections: Int, unsigned: Int, handshakes: Int, tlsHandshakes: Int = .max) {
      self.connections = connections
      self.unsigned = unsigned
      self.handshakes = handshakes
      self.tlsHandshakes = tlsHandshakes
    }
  }

  public var all: Places
  public var address: Places
  /// Connections that one address opens.
  public var newConnections: RateLimit
  /// Connection tokens of one address that are checked.
  public var signIns: RateLimit
  /// Whether connections from this machine count for their address. Load tests, and proxies that nobody has listed, are
  /// there.
  public var countsLoopback: Bool

  public init(
    all: Places, address: Places, newConnections: RateLimit = .unlimited, signIns: RateLimit = .unlimited,
    countsLoopback: Bool = false
  ) {
    self.all = all
    self.address = address
    self.newConnections = newConnections
    self.signIns = signIns
    self.countsLoopback = countsLoopback
  }

  /// No limit but the one on all connections, which the accept thread keeps.
  public static let none = AdmissionLimits(
    all: .init(connections: .max, unsigned: .max, handshakes: .max),
    address: .init(connections: .max, unsigned: .max, handshakes: .max))

  /// An address's share of a number of places: one part in so many, but nearly all of a small number, because shares of
  /// a handful would keep honest people out.
  public static func share(_ number: Int, oneIn parts: Int) -> Int { max(number / max(parts, 1), min(number, 16)) }
}

/// Counts the connections by address and by how far they have come, and says whether one more is let in: pure.
struct Admission {
  /// How far a connection has come.
  enum Stage: UInt8 {
    /// Can transition to: unsigned.
    case handshake
    /// Can transition to: signedIn.
    case unsigned
    case signedIn
  }

  private struct Count {
    var connections = 0
    var unsigned = 0
    var handshakes = 0

    mutating func add(_ stage: Stage, _ change: Int) {
      connections += change
      if stage != .signedIn { unsigned += change }
      if stage == .handshake { handshakes += change }
    }
  }

  private let limits: AdmissionLimits
  private var all = Count()
  /// Counts of the addresses that have a connection now.
  private var addresses: [IPAddress: Count] = [:]
  private var newConnections: TokenBuckets<IPAddress>
  private var signIns: TokenBuckets<IPAddress>

  /// Addresses whose rates are remembered: an entry is about 50 bytes.
  private static let mostRates = 100_000

  init(_ limits: AdmissionLimits) {
    self.limits = limits
    newConnections = TokenBuckets(limits.newConnections, capacity: Self.mostRates)
    signIns = TokenBuckets(limits.signIns, capacity: Self.mostRates)
  }

  /// Addresses that have a connection.
  var addressCount: Int { addresses.count }

  /// A connection was accepted.
  ///
  /// - Parameter address: nil where only a proxy's is known yet.
  /// - Returns: why it is not let in; nil: it counts from now on.
  mutating func open(_ address: IPAddress?, at milliseconds: Int64) -> RefusalCause? {
    if all.connections >= limits.all.connections { return .full }
    if all.unsigned >= limits.all.unsigned { return .unsigned }
    if all.handshakes >= limits.all.handshakes { return .handshakes }
    if let address, let cause = join(address, .handshake, at: milliseconds) { return cause }
    all.add(.handshake, 1)
    return nil
  }

  /// A proxy has said whose connection this is, which counted for nobody before.
  mutating func identify(_ address: IPAddress, _ stage: Stage, at milliseconds: Int64) -> RefusalCause? {
    join(address, stage, at: milliseconds)
  }

  mutating func move(_ address: IPAddress?, from old: Stage, to new: Stage) {
    all.add(old, -1)
    all.add(new, 1)
    guard let address = counted(address) else { return }
    addresses[address]?.add(old, -1)
    addresses[address]?.add(new, 1)
  }

  mutating func close(_ address: IPAddress?, _ stage: Stage) {
    all.add(stage, -1)
    guard let address = counted(address) else { return }
    addresses[address]?.add(stage, -1)
    if addresses[address]?.connections == 0 { addresses[address] = nil }
  }

  /// Milliseconds until the token of this address's next sign-in is checked; nil: too many wait already.
  ///
  /// A sign-in waits rather than being refused: after a network was away, all the people behind one address come at
  /// once, and nothing is wrong with them.
  mutating func signIn(_ address: IPAddress?, at milliseconds: Int64) -> Int64? {
    guard let address = counted(address) else { return 0 }
    return signIns.reserve(for: address, within: Self.longestSignInWait, at: milliseconds)
  }

  private static let longestSignInWait: Int64 = 5_000

  private mutating func join(_ address: IPAddress, _ stage: Stage, at milliseconds: Int64) -> RefusalCause? {
    guard let address = counted(address) else { return nil }
    var count = addresses[address] ?? Count()
    if count.connections >= limits.address.connections { return .addressConnections }
    if stage != .signedIn && count.unsigned >= limits.address.unsigned { return .addressUnsigned }
    if stage == .handshake && count.handshakes >= limits.address.handshakes { return .addressHandshakes }
    if !newConnections.take(for: address, at: milliseconds) { return .addressRate }
    count.add(stage, 1)
    addresses[address] = count
    return nil
  }

  /// The address under which a connection is counted (``IPAddress/limited``); nil where it is not.
  private func counted(_ address: IPAddress?) -> IPAddress? {
    guard let address, limits.countsLoopback || !address.isLoopback else { return nil }
    return address.limited
  }
}
