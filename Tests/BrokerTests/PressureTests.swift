import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Broker
@testable import Log

/// A disk that stands still is felt in the pipes, by those who send.
@Suite("Requests that wait for the disk, through BrokerBackbone", .timeLimit(.minutes(15)), .ownThread)
struct PressureTests {
  private static let pendingBytes = 1 << 20
  private static let count: UInt64 = 20_000

  @Test("They are read later before the log refuses one, and all of them are answered", arguments: ["d:1", "r:1"])
  func readLater(_ name: String) throws {
    let folder = NSTemporaryDirectory() + "/fanfare-pressure-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let context = try Context()
    let scene = try start(in: folder, context: context)
    defer { scene.thread.stop() }
    let (release, held) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isAsked = scene.inbox.ask(
      .runInTest(
        { _ in
          held.signal()
          release.wait()
        }, Reply<Void>()))
    #expect(isAsked)
    defer { release.signal() }
    held.wait()

    let gateway = try connect(to: scene.address, context)
    try gateway.send(multipart: [header(.hello, 0).bytes, LinkHello(gateway: 5).bytes], blocking: true)
    for id in 1...Self.count {
      let publish = BrokerRequest.PublishRequest(channel: try ChannelName(name), data: [0x31])
      let request = LinkRequest(id: id, oldestPending: 1, request: .publish(publish))
      try gateway.send(multipart: [header(.request, id).bytes, request.bytes], blocking: true)
    }
    // All requests together would be five times the limit.
    #expect(blocksUntil(within: .seconds(300)) { scene.inbox.bytes >= Self.pendingBytes })
    #expect(scene.inbox.bytes < 2 * Self.pendingBytes)
    release.signal()

    var offsets: [UInt64] = []
    while UInt64(offsets.count) < Self.count {
      var frames: [[UInt8]] = []
      try #require(
        try gateway.receiveMultipart(into: &frames, blocking: true) != nil, "\(offsets.count) were answered")
      guard try LinkHeader(bytes: frames[0]).kind == .reply else { continue }
      let reply = try LinkReply(bytes: frames[1])
      guard case .published(let position) = reply.response else {
        Issue.record("request \(reply.id) was answered with \(reply.response)")
        return
      }
      offsets.append(position.offset)
    }
    let isInOrder = offsets == Array(1...Self.count)
    #expect(isInOrder)
  }

  private struct Scene {
    var thread: BackboneThread
    var address: String
    var inbox: WriterInbox
  }

  private func start(in folder: String, context: Context) throws -> Scene {
    let made = Mutex<(address: String, inbox: WriterInbox)?>(nil)
    let completions = Mailbox<[LogCompletion]>(capacity: .max)
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let configuration = Self.configuration()
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      var options = SQLiteStore.Options()
      // The log takes less than what is sent, so that without a pause something would be refused.
      options.backlogLimit = 2 * Self.pendingBytes
      let news = Mailbox<StoreHasNews>(capacity: .max)
      let disk = try SQLiteStore(
        folder: folder, options: options, logger: quiet, onNews: { _ = news.post(StoreHasNews()) }
      ) {
        _ = completions.post($0)
      }
      let core = BrokerCore(configuration: configuration, memory: MemoryStore(), disk: disk)
      let broker = try BrokerBackbone(
        core: core, endpoints: BrokerEndpoints(backbone: "tcp://127.0.0.1:*"), context: context, loop: loop,
        completions: completions, news: news, logger: quiet)
      let inbox = disk.writer.inbox
      made.withLock { $0 = (broker.backboneEndpoint ?? "", inbox) }
      return [broker]
    }
    let (address, inbox) = try #require(made.withLock { $0 })
    return Scene(thread: thread, address: address, inbox: inbox)
  }

  private static func configuration() -> BrokerConfiguration {
    var table = NamespaceTable()
    for (name, durability) in [("d", Durability.durable), ("r", .relaxed)] {
      var options = ChannelOptions()
      options.durability = durability
      table.namespaces[name] = options
    }
    var configuration = BrokerConfiguration(namespaces: table, instance: 7)
    configuration.pendingBytes = pendingBytes
    // The gateway here is a socket that sends no heartbeats.
    configuration.gatewayTimeout = 600_000
    return configuration
  }

  private func header(_ kind: LinkHeader.Kind, _ sequence: UInt64) -> LinkHeader {
    LinkHeader(kind: kind, session: 1, sequence: sequence)
  }

  private func connect(to address: String, _ context: Context) throws -> Socket {
    let socket = try Socket(
      context, .dealer,
      Socket.Options {
        $0.receiveTimeoutMilliseconds = 300_000
        $0.sendTimeoutMilliseconds = 300_000
        $0.lingerMilliseconds = 0
        $0.sendHighWaterMark = 1_000_000
        $0.routingID = LinkIdentity.bytes(of: 5)
      })
    try socket.connect(address)
    return socket
  }
}
