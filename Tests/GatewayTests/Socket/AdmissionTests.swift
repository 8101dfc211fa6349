import Testing
import Wire

@testable import Gateway

@Suite("Who is let in")
struct AdmissionTests {
  /// A macro cannot call what mutates a value.
  private final class Door {
    var admission: Admission

    init(_ limits: AdmissionLimits) { admission = Admission(limits) }

    func open(_ address: String?, at milliseconds: Int64 = 0) -> RefusalCause? {
      admission.open(address.flatMap { IPAddress($0) }, at: milliseconds)
    }
    func identify(_ address: String) -> RefusalCause? {
      IPAddress(address).flatMap { admission.identify($0, .handshake, at: 0) }
    }
    func move(_ address: String, _ old: Admission.Stage, _ new: Admission.Stage) {
      admission.move(IPAddress(address), from: old, to: new)
    }
    func close(_ address: String?, _ stage: Admission.Stage) {
      admission.close(address.flatMap { IPAddress($0) }, stage)
    }
    func signIn(_ address: String, at milliseconds: Int64) -> Int64? {
      admission.signIn(IPAddress(address), at: milliseconds)
    }
  }

  private static let some = AdmissionLimits(
    all: .init(connections: 10, unsigned: 8, handshakes: 6),
    address: .init(connections: 5, unsigned: 4, handshakes: 3))
  private let attacker = "192.0.2.66"
  private let honest = "198.51.100.1"

  @Test("An address that fills its places leaves the others' to the others")
  func share() {
    let door = Door(Self.some)
    for _ in 0..<3 { #expect(door.open(attacker) == nil) }
    #expect(door.open(attacker) == .addressHandshakes)
    #expect(door.open(honest) == nil)
    door.move(attacker, .handshake, .unsigned)
    #expect(door.open(attacker) == nil)
    #expect(door.open(attacker) == .addressUnsigned)
    door.move(attacker, .unsigned, .signedIn)
    door.move(attacker, .handshake, .unsigned)
    #expect(door.open(attacker) == nil)
    for _ in 0..<100 { #expect(door.open(attacker) == .addressConnections) }
    #expect(door.open(honest) == nil)
    #expect(door.open(honest) == nil)
  }

  @Test("Who has signed in no longer stands in the way of those who have not")
  func stages() {
    let door = Door(Self.some)
    for number in 0..<6 { #expect(door.open("10.0.0.\(number)") == nil) }
    #expect(door.open("10.0.1.1") == .handshakes)
    for number in 0..<6 { door.move("10.0.0.\(number)", .handshake, .unsigned) }
    #expect(door.open("10.0.1.1") == nil)
    #expect(door.open("10.0.1.2") == nil)
    #expect(door.open("10.0.1.3") == .unsigned)
    for number in 0..<6 { door.move("10.0.0.\(number)", .unsigned, .signedIn) }
    #expect(door.open("10.0.1.3") == nil)
    #expect(door.open("10.0.1.4") == nil)
    #expect(door.open("10.0.1.5") == .full)
  }

  @Test("What is closed is given back, wherever it had got to, and nothing is kept of who has left")
  func close() {
    let door = Door(Self.some)
    for stage in [Admission.Stage.handshake, .unsigned, .signedIn] {
      for _ in 0..<50 {
        #expect(door.open(attacker) == nil)
        if stage != .handshake { door.move(attacker, .handshake, .unsigned) }
        if stage == .signedIn { door.move(attacker, .unsigned, .signedIn) }
        door.close(attacker, stage)
      }
    }
    #expect(door.admission.addressCount == 0)
  }

  @Test("A household's IPv6 addresses are one, and IPv4 in IPv6 is IPv4")
  func forms() {
    let door = Door(Self.some)
    for number in 0..<3 { #expect(door.open("2001:db8:1:2::\(number)") == nil) }
    #expect(door.open("2001:db8:1:2:ffff::1") == .addressHandshakes)
    #expect(door.open("2001:db8:1:3::1") == nil)
  }

  @Test("This machine's own addresses are limited only where that is set")
  func loopback() {
    let door = Door(Self.some)
    for _ in 0..<6 { #expect(door.open("127.0.0.1") == nil) }
    #expect(door.open("127.0.0.1") == .handshakes)
    var limits = Self.some
    limits.countsLoopback = true
    let strict = Door(limits)
    for _ in 0..<3 { #expect(strict.open("127.0.0.1") == nil) }
    #expect(strict.open("127.0.0.1") == .addressHandshakes)
    #expect(strict.open("127.0.0.2") == nil)
  }

  @Test("A proxy's connection counts for the client that it names, from then on")
  func proxied() {
    let door = Door(Self.some)
    for _ in 0..<3 { #expect(door.open(nil) == nil) }
    for _ in 0..<3 { #expect(door.identify(attacker) == nil) }
    #expect(door.open(nil) == nil)
    #expect(door.identify(attacker) == .addressHandshakes)
    #expect(door.identify(honest) == nil)
  }

  @Test("An address opens as many connections as its rate allows, and others theirs")
  func rate() {
    var limits = AdmissionLimits.none
    limits.newConnections = RateLimit(perSecond: 2, burst: 4)
    let door = Door(limits)
    for _ in 0..<4 { #expect(door.open(attacker) == nil) }
    for _ in 0..<50 { #expect(door.open(attacker) == .addressRate) }
    #expect(door.open(honest) == nil)
    #expect(door.open(attacker, at: 499) == .addressRate)
    #expect(door.open(attacker, at: 500) == nil)
  }

  @Test("Sign-ins beyond the rate wait, and are sent away only where too many wait")
  func signIns() {
    var limits = AdmissionLimits.none
    limits.signIns = RateLimit(perSecond: 10, burst: 100)
    let door = Door(limits)
    for _ in 0..<100 { #expect(door.signIn(attacker, at: 0) == 0) }
    #expect(door.signIn(attacker, at: 0) == 100)
    #expect(door.signIn(attacker, at: 0) == 200)
    for _ in 0..<48 { #expect(door.signIn(attacker, at: 0) != nil) }
    #expect(door.signIn(attacker, at: 0) == nil)
    #expect(door.signIn(honest, at: 0) == 0)
  }

  @Test("However small the burst is beside the wait, no more sign in than the rate allows")
  func signInsOfASmallBurst() {
    var limits = AdmissionLimits.none
    limits.signIns = RateLimit(perSecond: 20, burst: 50)
    let door = Door(limits)
    var times: [Int64] = []
    for milliseconds in stride(from: Int64(0), to: 20_000, by: 10) {
      if let wait = door.signIn(attacker, at: milliseconds) { times.append(milliseconds + wait) }
    }
    for second in Int64(0)..<20 {
      let signedIn = times.count { $0 <= second * 1000 }
      #expect(signedIn <= 50 + 20 * Int(second) + 1, "\(signedIn) after \(second) s")
    }
    #expect(times.count >= 50 + 20 * 19)
  }

  @Test("A share of a small number keeps nobody out")
  func shares() {
    #expect(AdmissionLimits.share(4000, oneIn: 4) == 1000)
    #expect(AdmissionLimits.share(10, oneIn: 4) == 10)
    #expect(AdmissionLimits.share(40, oneIn: 4) == 16)
    #expect(AdmissionLimits.share(1, oneIn: 4) == 1)
  }
}
