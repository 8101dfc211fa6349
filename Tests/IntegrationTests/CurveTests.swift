import Foundation
import TestSupport
import Testing
import ZeroMQ

/// The backbone over tcp is for gateways whose keys the broker was told.
@Suite("CURVE on the backbone", .ownThread)
struct CurveTests {
  enum Impostor: CaseIterable { case withUnlistedKeys, withoutKeys }

  @Test("A gateway that the broker does not know gets nothing, while the known ones work", arguments: Impostor.allCases)
  func impostor(_ impostor: Impostor) async throws {
    try await Deployment.with(.curve) { deployment in
      let known = try await deployment.client("ann")
      try await known.subscribe("mem:locked")
      var settings = [
        "backbone.endpoint=\(deployment.broker.endpoints.backbone ?? "")", "client.request_timeout=500ms",
      ]
      if impostor == .withUnlistedKeys {
        let serverKey = try Curve.SecretKey(
          z85: String(contentsOf: deployment.directory.appendingPathComponent("broker.key"), encoding: .utf8))
        try deployment.write(try Curve.KeyPair.generate().secretKey.z85, to: "impostor.key")
        settings += [
          "backbone.curve.server_public_key=\(try serverKey.publicKey.z85)",
          "backbone.curve.client_secret_key_file=\(deployment.directory.path)/impostor.key",
        ]
      }
      do {
        try await deployment.startGateway("impostor", settings: settings)
      } catch let failure as Failure {
        // Refusing to start is the better end, where the settings show it already.
        #expect(impostor == .withoutKeys, "\(failure)")
        return
      }
      let outside = try await deployment.client("eve", at: deployment.gateway("impostor").endpoints.websocket)
      let answer = try await outside.ask(#""subscribe":{"channel":"mem:locked"}"#)
      #expect(answer.error?.code == 100)
      #expect(answer.error?.temporary == true)
      try await known.publish("for friends", to: "mem:locked")
      #expect(await eventually { known.data("mem:locked") == ["for friends"] })
      #expect(outside.data("mem:locked").isEmpty)
    }
  }
}
