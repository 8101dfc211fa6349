import Foundation
import TLS
import TestSupport
import Testing

@testable import Gateway

/// `FANFARE_AUTOBAHN` names the program that runs the suite, `.ci/autobahn` or one like it. `make conformance` sets
/// `FANFARE_AUTOBAHN_MODE` to `full`, for all cases and over TLS too, and `FANFARE_AUTOBAHN_REPORTS` to the folder where the
/// reports are kept.
@Suite("The Autobahn suite", .ownThread, .serialized)
struct AutobahnTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let isFull = environment["FANFARE_AUTOBAHN_MODE"] == "full"

  @Test(
    "every case of the Autobahn suite is as it should be",
    .skipUnlessStrict(.autobahn, isThere: environment["FANFARE_AUTOBAHN"] != nil),
    arguments: isFull ? ["ws", "wss"] : ["ws"])
  func autobahn(scheme: String) throws {
    let command = try #require(Self.environment["FANFARE_AUTOBAHN"])
    let certificate = scheme == "wss" ? try TestCertificate() : nil
    let tls = try certificate.map {
      try TLSContext.server(.init(chainPath: $0.chainPath, keyPath: $0.keyPath))
    }
    try withListener({
      $0.maxMessageBytes = 32 << 20
      $0.queueLimitBytes = 64 << 20
      $0.compression = CompressionOptions(leastBytes: 0)
      $0.tls = tls
    }) { harness throws in
      let kept = Self.environment["FANFARE_AUTOBAHN_REPORTS"].map { URL(fileURLWithPath: $0) }
      let folder =
        kept?.appendingPathComponent(scheme)
        ?? FileManager.default.temporaryDirectory.appendingPathComponent("autobahn-\(UUID().uuidString)")
      defer { if kept == nil { try? FileManager.default.removeItem(at: folder) } }
      let runner = Process()
      runner.executableURL = URL(fileURLWithPath: command)
      runner.arguments = [
        "\(scheme)://127.0.0.1:\(harness.port)/connection/websocket", folder.path, Self.isFull ? "full" : "quick",
      ]
      try runner.run()
      runner.waitUntilExit()
      #expect(runner.terminationStatus == 0)
    }
  }
}
