/// The least that a fan-out can cost: a loop around `send()`, which the harness brings itself.
struct FloorPeer: Peer {
  let name = "floor"
  /// The path of `fanfare-bench`; nil: the running program.
  var executable: String?

  func describe() throws(BenchError) -> PeerDescription {
    PeerDescription(
      name: name, version: "of this bench",
      settings:
        "one thread; a publication becomes one WebSocket frame, and a loop of send() carries it to every socket; each publication is acknowledged after its fan-out with a frame as long as Fanfare's, those of one reading in one call; no queue beyond what a socket did not take"
    )
  }

  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer {
    let program = try ProcessTable.ownExecutable(unless: executable)
    let port = try LoopbackPort.free()
    return try .single(name, .loopback("floor", "ws://127.0.0.1:\(port)/"), port: port, cores: cores) { _ in
      [program, "floor", "--port", String(port)]
    }
  }
}
