import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Machines of a test's own, which are network namespaces: a broker's, and two gateways', each with a cable to the broker's.
///
/// The namespace in which the tests run has no part in it, so addresses and devices collide with nobody's. Names of
/// namespaces are the machine's, and carry the number of the process that tests: `fanfare-PID-COUNT-MACHINE`.
final class Network: Sendable {
  /// As `.ci/run` finds it out.
  static let isPossible = Command(ServerProcess.repository.appendingPathComponent(".ci/namespaces")).succeeds()

  static let machines = ["broker", "a", "b"]
  /// Where gateways reach the broker's machine.
  static let brokerAddress = "10.0.0.1"
  private static let folder = "/run/netns"
  private static let made = Atomic<Int>(0)

  private let name: String
  /// Of gateway `a` and of gateway `b`.
  let cables: [Cable]

  private init() {
    let name = "fanfare-\(getpid())-\(Self.made.add(1, ordering: .relaxed).newValue)"
    self.name = name
    cables = ["a", "b"].enumerated().map { index, gateway in
      Cable(
        name: gateway,
        near: .init(
          namespace: "\(name)-\(gateway)", device: "eth0", address: "10.0.0.\(index + 2)",
          hardwareAddress: "02:00:00:00:00:0\(index + 2)"),
        far: .init(
          namespace: "\(name)-broker", device: "eth\(index)", address: Self.brokerAddress,
          hardwareAddress: "02:00:00:00:01:0\(index + 2)"))
    }
  }

  /// Makes a network, and removes it whatever happens.
  static func with(_ body: (Network) async throws -> Void) async throws {
    try await removeLeftovers()
    let network = Network()
    do {
      try await network.begin()
      try await body(network)
    } catch {
      await network.end()
      throw error
    }
    await network.end()
  }

  private func begin() async throws {
    for machine in Self.machines {
      try await run("ip", "netns", "add", namespace(of: machine))
      try await run("ip", "-n", namespace(of: machine), "link", "set", "dev", "lo", "up")
    }
    for cable in cables { try await cable.lay() }
  }

  /// Devices go with their namespaces.
  private func end() async {
    for machine in Self.machines { try? await run("ip", "netns", "delete", namespace(of: machine)) }
  }

  /// Removes the networks of test processes that were killed, and ends what they had started there.
  ///
  /// - Parameter kind: what their names begin with.
  static func removeLeftovers(_ kind: String = "fanfare") async throws {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let parts = name.split(separator: "-")
      guard parts.count == 4, parts[0] == kind, let owner = Int32(parts[1]) else { continue }
      if kill(owner, 0) == 0 || errno != ESRCH { continue }
      let inside = try await Command(named: "ip", ["netns", "pids", name]).run(deadline: .seconds(60))
      for process in inside.output.split(separator: "\n").compactMap({ Int32($0) }) { kill(process, SIGKILL) }
      try? await run("ip", "netns", "delete", name)
    }
  }

  // MARK: Machines

  func namespace(of machine: String) -> String { "\(name)-\(machine)" }

  /// Put before a command, has it run on a machine.
  func wrapper(on machine: String) -> [String] {
    ["/usr/bin/env", "ip", "netns", "exec", namespace(of: machine)]
  }

  /// Does something on a machine. Sockets that it opens belong there.
  func on<Value: Sendable>(_ machine: String, _ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let path = "\(Self.folder)/\(namespace(of: machine))"
    // A thread of its own, which is nobody's any more afterwards.
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            try Self.enter(path)
            return try body()
          })
      }
    }
  }

  /// Puts the thread into a namespace. The function is looked up by name, because Glibc's Swift module leaves it out.
  private static func enter(_ path: String) throws {
    typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
    let networkNamespace: Int32 = 0x4000_0000
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    guard descriptor >= 0, let symbol = dlsym(nil, "setns"),
      unsafeBitCast(symbol, to: SetNamespace.self)(descriptor, networkNamespace) == 0
    else { throw Failure("\(path) cannot be entered: errno \(errno)") }
  }

  /// TCP connections between gateways and the broker that the kernel of the process' machine takes for open.
  static func openLinks(of process: FanfareProcess) throws -> Int {
    let table = try String(contentsOfFile: "/proc/\(process.identifier)/net/tcp", encoding: .utf8)
    // The address is in hexadecimal digits, its last byte first, as are the states, of which 01 is ESTABLISHED.
    return table.split(separator: "\n").count { line in
      let fields = line.split(separator: " ")
      return fields.count > 3 && fields[3] == "01" && fields[1...2].contains { $0.hasPrefix("0100000A:") }
    }
  }
}

/// A cable between a gateway's machine and the broker's: two network devices, of which each knows the other's hardware
/// address by heart. So a direction that is lost takes nothing of the other one with it, and who sends hears nothing of it.
struct Cable: Sendable {
  struct End: Sendable {
    let namespace: String
    let device: String
    let address: String
    let hardwareAddress: String

    /// Takes the device down, or up again: what the machine sends fails at once then, and its routes are gone.
    func set(up isUp: Bool) async throws {
      try await run("ip", "-n", namespace, "link", "set", "dev", device, isUp ? "up" : "down")
    }

    /// Has all that is sent go to a hardware address; where it is not the other end's, it is lost without a word.
    func send(to other: End, at hardwareAddress: String) async throws {
      try await run(
        "ip", "-n", namespace, "neighbour", "replace", other.address, "lladdr", hardwareAddress, "dev", device, "nud",
        "permanent")
    }

    func queue(_ discipline: String...) async throws {
      try await run(["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root"] + discipline)
    }
  }

  enum Direction: CaseIterable { case fromGateway, fromBroker }

  /// The gateway's.
  let name: String
  /// The gateway's end, and the broker's.
  let near, far: End

  func lay() async throws {
    try await run(
      "ip", "link", "add", near.device, "netns", near.namespace, "address", near.hardwareAddress, "type", "veth",
      "peer", "name", far.device, "netns", far.namespace, "address", far.hardwareAddress)
    for (end, other) in [(near, far), (far, near)] {
      try await run(
        "ip", "-n", end.namespace, "address", "add", end.address, "peer", other.address, "dev", end.device)
    }
    try await mend()
  }

  /// Loses all that is sent in these directions.
  func lose(_ directions: [Direction] = Direction.allCases) async throws {
    for direction in directions {
      let (end, other) = direction == .fromGateway ? (near, far) : (far, near)
      try await end.send(to: other, at: "02:00:00:00:ff:ff")
    }
  }

  /// Some 30 KB in a second fit through, and what waits for that may be two seconds late; the rest is lost.
  func narrow() async throws {
    for end in [near, far] { try await end.queue("tbf", "rate", "256kbit", "burst", "4kb", "latency", "2s") }
  }

  /// All is well again, whatever it was.
  func mend() async throws {
    // A device that is taken down forgets who is at the other end.
    for (end, other) in [(near, far), (far, near)] {
      try await end.set(up: true)
      try await end.send(to: other, at: other.hardwareAddress)
      try await end.queue("pfifo")
    }
  }
}

private func run(_ words: String...) async throws { try await run(words) }

/// - Throws: what the command said, where it does not end well.
private func run(_ words: [String]) async throws {
  let outcome = try await Command(named: words[0], Array(words.dropFirst())).run(deadline: .seconds(60))
  guard outcome.status == 0 else { throw Failure("\(words.joined(separator: " ")): \(outcome.output)") }
}
