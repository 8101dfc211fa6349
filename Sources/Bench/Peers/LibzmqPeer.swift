import ZeroMQ

/// Plain libzmq: an XPUB that passes on what comes in, see ``ZeroMQPublisher``.
struct LibzmqPeer: Peer {
  let name = "libzmq"
  /// The path of `fanfare-bench`; nil: the running program.
  var executable: String?

  func describe() throws(BenchError) -> PeerDescription {
    PeerDescription(
      name: name, version: "libzmq \(Context.libraryVersion)",
      settings: "XPUB over TCP (no WebSocket), fed by a SUB; no high-water marks; one I/O thread and one that passes on"
    )
  }

  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer {
    let program = try ProcessTable.ownExecutable(unless: executable)
    let port = try LoopbackPort.free()
    var target = Target.loopback("zmtp", "tcp://127.0.0.1:\(port)")
    target.publishURL = "tcp://127.0.0.1:\(port + 1)"
    return try .single(name, target, port: port, cores: cores) { _ in [program, "zmq-peer", "--port", String(port)] }
  }
}
