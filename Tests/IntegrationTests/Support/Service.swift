import Foundation
import Synchronization
import TestSupport
import ZeroMQ

/// A backend service: a DEALER on the commands endpoint, on a thread of its own.
final class Service: Sendable {
  struct Answer: Decodable, Sendable {
    struct Publication: Decodable, Sendable {
      var offset: UInt64
      /// Empty where it is no text, such as where it was deleted.
      var data: String

      private enum CodingKeys: String, CodingKey { case offset, data }

      init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        offset = try fields.decode(UInt64.self, forKey: .offset)
        data = (try? fields.decode(String.self, forKey: .data)) ?? ""
      }
    }
    struct Node: Decodable, Sendable, Equatable {
      var uid: String
      var name: String
      var version: String
      var num_clients: Int
      var num_users: Int
      var num_subs: Int
      var num_channels: Int
    }
    struct Broker: Decodable, Sendable {
      var version: String
      var num_channels: Int
      var num_publications: Int
    }
    struct Kept: Decodable, Sendable {
      var kind: String
      var count: Int
    }
    var isError = false
    var code: Int?
    var message: String?
    var epoch: String?
    var offset: UInt64?
    var publications: [Publication]?
    var nodes: [Node]?
    var broker: Broker?
    var channels: [String]?
    var counts: [String: Int]?
    var state: String?
    var kept: [Kept]?
    var partial: Bool?
    var unanswered: Int?

    private enum CodingKeys: String, CodingKey {
      case code, message, epoch, offset, publications, nodes, broker, channels, counts, partial, unanswered
      case state, kept
    }

    var position: Peer.Position { Peer.Position(epoch: epoch ?? "", offset: offset ?? 0) }
  }

  private let box = Box()

  private final class Box: Sendable {
    struct State {
      var lastID: UInt64 = 0
      var toSend: [[[UInt8]]] = []
      var answers: [UInt64: Answer] = [:]
      var hasEnded = false
    }
    let state = Mutex(State())
  }

  init(_ endpoint: String) {
    let box = box
    Thread.detachNewThread {
      do { try Self.run(endpoint, box) } catch { print("a service ended: \(error)") }
    }
  }

  deinit { box.state.withLock { $0.hasEnded = true } }

  private static func run(_ endpoint: String, _ box: Box) throws {
    let context = try Context()
    var options = Socket.Options()
    options.lingerMilliseconds = 0
    options.receiveTimeoutMilliseconds = 2
    options.reconnectIntervalMilliseconds = 20
    options.sendHighWaterMark = 0
    let socket = try Socket(context, .dealer, options)
    try socket.connect(endpoint)
    var frames: [[UInt8]] = []
    while true {
      let (requests, hasEnded) = box.state.withLock { state in
        defer { state.toSend = [] }
        return (state.toSend, state.hasEnded)
      }
      if hasEnded { return }
      for request in requests { try socket.send(multipart: request, blocking: true) }
      while try socket.receiveMultipart(into: &frames, maxFrames: 3, blocking: true) != nil {
        guard frames.count == 3, let id = UInt64(String(decoding: frames[0], as: UTF8.self)) else { continue }
        var answer = try JSONDecoder().decode(Answer.self, from: Data(frames[2]))
        answer.isError = frames[1] != Array("ok".utf8)
        box.state.withLock { [answer] in $0.answers[id] = answer }
        if box.state.withLock({ !$0.toSend.isEmpty || $0.hasEnded }) { break }
      }
    }
  }

  /// Sends without waiting.
  func send(_ method: String, _ parameters: String, payload: String? = nil) -> UInt64 {
    box.state.withLock { state in
      state.lastID += 1
      var frames = [Array(String(state.lastID).utf8), Array(method.utf8), Array(parameters.utf8)]
      if let payload { frames.append(Array(payload.utf8)) }
      state.toSend.append(frames)
      return state.lastID
    }
  }

  func answer(_ id: UInt64) -> Answer? { box.state.withLock { $0.answers[id] } }

  /// Nil where no answer comes.
  func ask(
    _ method: String, _ parameters: String, payload: String? = nil, within limit: Duration = .seconds(60)
  ) async -> Answer? {
    let id = send(method, parameters, payload: payload)
    _ = await eventually(within: limit) { self.answer(id) != nil }
    return answer(id)
  }

  func sendPublish(_ data: String, to channel: String, key: String? = nil) -> UInt64 {
    var parameters = #"{"channel":\#(quoted(channel))"#
    if let key { parameters += #","idempotency_key":\#(quoted(key))"# }
    return send("publish", parameters + "}", payload: quoted(data))
  }

  func publish(_ data: String, to channel: String, key: String? = nil) async throws -> Answer {
    let id = sendPublish(data, to: channel, key: key)
    guard await eventually(within: .seconds(60), { self.answer(id) != nil }), let answer = answer(id) else {
      throw Failure("the broker did not answer a service's publish")
    }
    return answer
  }

  /// All that the channel keeps, page by page.
  func wholeHistory(_ channel: String, pageSize: Int = 500) async throws -> [Answer.Publication] {
    var all: [Answer.Publication] = []
    var since = ""
    while true {
      guard
        let page = await ask("history", #"{"channel":\#(quoted(channel)),"limit":\#(pageSize)\#(since)}"#),
        !page.isError
      else { throw Failure("no history of \(channel)") }
      guard let publications = page.publications, let last = publications.last else { return all }
      all += publications
      since = #","since":{"epoch":\#(quoted(page.epoch ?? "")),"offset":\#(last.offset)}"#
    }
  }
}

/// Listens to channels by prefix on the tap.
final class Tap: Sendable {
  private let box = Box()

  private final class Box: Sendable {
    let heard = Mutex<[String]>([])
    let hasEnded = Atomic<Bool>(false)
  }

  convenience init(_ endpoint: String, prefix: String) { self.init([endpoint], prefix: prefix) }

  init(_ endpoints: [String], prefix: String) {
    let box = box
    Thread.detachNewThread {
      do {
        let context = try Context()
        var options = Socket.Options()
        options.lingerMilliseconds = 0
        options.receiveTimeoutMilliseconds = 20
        let socket = try Socket(context, .sub, options)
        for endpoint in endpoints { try socket.connect(endpoint) }
        try socket.subscribe(to: Array(prefix.utf8))
        var frames: [[UInt8]] = []
        while !box.hasEnded.load(ordering: .relaxed) {
          guard try socket.receiveMultipart(into: &frames, maxFrames: 3, blocking: true) != nil, frames.count == 3
          else { continue }
          let text = String(decoding: frames[2], as: UTF8.self)
          box.heard.withLock { $0.append(text) }
        }
      } catch { print("a tap ended: \(error)") }
    }
  }

  deinit { box.hasEnded.store(true, ordering: .relaxed) }

  /// The payloads, as JSON.
  var heard: [String] { box.heard.withLock { $0 } }
}
