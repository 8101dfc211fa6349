/// A server that is measured: how it is started, found ready, described and stopped.
///
/// A peer of the same name in `benchmarks/peers/` is a script: `NAME install` puts it where the script wants it,
/// `NAME version` prints its version or fails with a sentence, `NAME start FOLDER PORT` runs it in the foreground with
/// its data in FOLDER and its clients' port at PORT (further ports follow it), `NAME settings` prints one line.
protocol Peer: Sendable {
  var name: String { get }
  /// - Throws: a sentence, where the peer is not to be had; it is then skipped and named.
  func describe() throws(BenchError) -> PeerDescription
  /// Starts the server, pinned to the cores, and returns when it takes connections.
  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer
}

/// A peer that runs.
struct RunningPeer: Sendable {
  var target: Target
  /// The server's process ids, for CPU and memory.
  var processes: [Int32]
  /// Ends the server and removes its folder.
  var stop: @Sendable () -> Void
  /// Called when the measured time begins; returns at once.
  var accompany: (@Sendable () -> Void)? = nil
  /// Called after the measured time, in CLOCK_MONOTONIC: looks whether what should have happened meanwhile did, and gives
  /// what is to be said of it, as sentences.
  var conclude: (@Sendable (_ measured: ClosedRange<UInt64>) throws(BenchError) -> [String])? = nil
}
