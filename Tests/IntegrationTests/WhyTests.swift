import Foundation
import TestSupport
import Testing

/// `fanfare why` against real servers and clients.
@Suite("Why a publication did or did not reach somebody", .ownThread)
struct WhyTests {
  private func why(_ user: String, _ channel: String, _ offset: Int, _ deployment: Deployment) async throws -> String {
    let run = try await Tool.run(
      ["why", "--user", user, channel, "\(offset)", "--timeout", "120", "--endpoint", deployment.commands],
      in: deployment.directory)
    #expect(run.status == 0, "\(run.tool.errors)")
    return run.tool.output
  }

  @Test("Who was there, who had gone, who came later and who never came are told apart")
  func presence() async throws {
    try await Deployment.with(.serve, settings: ["admin.api.key=a-key-that-only-this-test-has"]) { deployment in
      let service = try deployment.service()
      let ann = try await deployment.client("ann")
      let ben = try await deployment.client("ben")
      for peer in [ann, ben] { try await peer.subscribe("mem:room") }
      _ = try await service.publish("one", to: "mem:room")
      for peer in [ann, ben] { #expect(await eventually { peer.data("mem:room") == ["one"] }) }
      ben.socket.cut()
      // The gateway has seen that ben is gone when his presence is.
      #expect(try await eventually { try await ann.presentUsers("mem:room") == ["ann"] })
      _ = try await service.publish("two", to: "mem:room")
      let cleo = try await deployment.client("cleo")
      try await cleo.subscribe("mem:room")
      #expect(await eventually { ann.data("mem:room") == ["one", "two"] })

      let there = try await why("ann", "mem:room", 2, deployment)
      #expect(there.hasPrefix("Yes: publication 2 of mem:room reached user ann"), "\(there)")
      let gone = try await why("ben", "mem:room", 2, deployment)
      #expect(gone.hasPrefix("No: publication 2 of mem:room did not reach user ben"), "\(gone)")
      #expect(gone.contains("the client or the network ended the connection"), "\(gone)")
      #expect(try await why("ben", "mem:room", 1, deployment).hasPrefix("Yes: "))
      let late = try await why("cleo", "mem:room", 1, deployment)
      #expect(late.contains("subscribed after it") && late.contains("did not ask for what was before"), "\(late)")
      let never = try await why("dora", "mem:room", 1, deployment)
      #expect(never.contains("no subscription of theirs was there for it"), "\(never)")
      let beyond = try await why("ann", "mem:room", 3, deployment)
      #expect(beyond.contains("the newest one is 2"), "\(beyond)")

      let json = try await Tool.run(
        ["why", "--user", "ann", "mem:room", "1", "--json", "--timeout", "120", "--endpoint", deployment.commands],
        in: deployment.directory)
      #expect(json.tool.output.hasPrefix(#"{"verdict":"delivered","#), "\(json.tool.output)")
      let port = try #require(deployment.broker.endpoints.admin.flatMap(URL.init(string:))?.port)
      let body = #"{"user":"ben","channel":"mem:room","offset":2}"#
      let headers =
        "X-API-Key: a-key-that-only-this-test-has\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n"
      let answer = try HTTPExchange(port: port).ask("POST", "/api/why", headers, Array(body.utf8))
      #expect(answer.text.hasPrefix(#"{"result":{"verdict":"away","#), "\(answer.text)")
    }
  }

  @Test("A reader who was too slow is named as one, from the first publication on that was not written")
  func slow() async throws {
    let settings = ["client.queue_bytes=64KiB", "client.slow_close_grace=50ms"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let slow = try await deployment.client("sam", receiveBufferBytes: 4096)
      try await slow.subscribe("mem:flood")
      slow.socket.pauseReading()
      let service = try deployment.service()
      let filling = String(repeating: "x", count: 8192)
      for start in stride(from: 0, to: 1200, by: 30) {
        let asked = (start..<(start + 30)).map { service.sendPublish("\($0) \(filling)", to: "mem:flood") }
        #expect(await eventually { asked.allSatisfy { service.answer($0)?.isError == false } })
      }
      try #require(await eventually { deployment.broker.errorOutput.contains("cause=slow_cut ") })
      #expect(
        try await eventually {
          let last = try await why("sam", "mem:flood", 1200, deployment)
          return last.contains("read too slowly (3008)") && last.hasPrefix("No: ")
        })
      #expect(try await why("sam", "mem:flood", 1, deployment).hasPrefix("Yes: "))
    }
  }

  @Test("After a gateway was killed, what its clients got is said to be unknown, and not guessed")
  func killed() async throws {
    try await Deployment.with(.ipc, settings: ["broker.gateway_timeout=1s", "backbone.heartbeat_interval=200ms"]) {
      deployment in
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      for peer in [ann, ben] { try await peer.subscribe("dur:room") }
      let service = try deployment.service()
      _ = try await service.publish("one", to: "dur:room")
      for peer in [ann, ben] { #expect(await eventually { peer.data("dur:room") == ["one"] }) }
      // The answer shows that the records stand in the file, since the gateway answers a question behind them.
      #expect(try await why("ben", "dur:room", 1, deployment).hasPrefix("Yes: "))
      await deployment.gateway("b").kill()
      #expect(try await eventually { try await ann.presentUsers("dur:room") == ["ann"] })
      try await deployment.startGateway(
        "b", settings: ["backbone.endpoint=\(deployment.broker.endpoints.backbone ?? "")"])
      // Until its link stands, the new process is not asked.
      #expect(
        try await eventually {
          let answer = try await why("ben", "dur:room", 1, deployment)
          return answer.hasPrefix("Perhaps: ") && answer.contains("its gateway's process died")
        })
      #expect(try await why("ann", "dur:room", 1, deployment).hasPrefix("Yes: "))
    }
  }
}
