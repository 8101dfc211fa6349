import Foundation
import Synchronization
import TestSupport
import Testing

/// One device of somebody, on the JSON protocol: asks, and remembers what it was told. Map channels are kept as the
/// maps that they are.
final class Phone: Sendable {
  struct Fault: Error, Equatable, CustomStringConvertible {
    var code: Int
    var message: String
    var description: String { "\(message) (error \(code))" }
  }

  private struct State {
    var nextID = 1
    var replies: [Int: JSON] = [:]
    var publications: [String: [JSON]] = [:]
    var maps: [String: [String: JSON]] = [:]
    var pushes: [JSON] = []
  }

  private final class Memory: Sendable {
    let state = Mutex(State())
  }

  private let memory = Memory()
  private let socket: WebSocketPeer

  init(_ url: String) throws {
    let (memory, mailbox) = (memory, Mailman())
    socket = try WebSocketPeer(url) { message in
      for line in message.split(separator: "\n") {
        guard let json = try? JSON(String(line)) else {
          Issue.record("a phone was sent what is no JSON: \(line)")
          continue
        }
        if json.keys.isEmpty { mailbox.send("{}") } else { Self.take(json, memory) }
      }
    }
    mailbox.use(socket)
  }

  /// Answers pings, from the thread that reads.
  private final class Mailman: Sendable {
    private let socket = Mutex<WebSocketPeer?>(nil)
    func use(_ peer: WebSocketPeer) { socket.withLock { $0 = peer } }
    func send(_ text: String) {
      _ = socket.withLock { $0 }?.send(text)
    }
    func release() { socket.withLock { $0 = nil } }
  }

  private static func take(_ message: JSON, _ memory: Memory) {
    memory.state.withLock { state in
      if let id = message["id"].int {
        state.replies[id] = message
        return
      }
      let push = message["push"]
      state.pushes.append(push)
      guard let channel = push["channel"].string, !push["pub"].isNull else { return }
      state.publications[channel, default: []].append(push["pub"])
      apply(push["pub"], to: channel, &state)
    }
  }

  private static func apply(_ publication: JSON, to channel: String, _ state: inout State) {
    guard let key = publication["key"].string else { return }
    state.maps[channel, default: [:]][key] = publication["removed"].bool ? nil : publication
  }

  // MARK: Asking

  /// - Parameter request: `"publish":{…}`.
  @discardableResult
  func ask(_ request: String) async throws -> JSON {
    let id = memory.state.withLock { state in
      defer { state.nextID += 1 }
      return state.nextID
    }
    socket.send("{\"id\":\(id),\(request)}")
    let answered = await eventually(within: .seconds(60)) {
      self.memory.state.withLock { $0.replies[id] != nil } || self.socket.closing != nil
    }
    guard answered, let reply = memory.state.withLock({ $0.replies.removeValue(forKey: id) }) else {
      throw Failure("no answer to \(request): \(String(describing: socket.closing))")
    }
    if let code = reply["error"]["code"].int {
      throw Fault(code: code, message: reply["error"]["message"].string ?? "")
    }
    return reply
  }

  /// Sends requests in one message, and waits until all of them are answered.
  func pipeline(_ requests: [String]) async throws {
    let ids = memory.state.withLock { state in
      defer { state.nextID += requests.count }
      return Array(state.nextID..<state.nextID + requests.count)
    }
    socket.send(zip(ids, requests).map { "{\"id\":\($0),\($1)}" }.joined(separator: "\n"))
    let isAnswered = await eventually(within: .seconds(60)) {
      self.memory.state.withLock { state in ids.allSatisfy { state.replies[$0] != nil } } || self.socket.closing != nil
    }
    guard isAnswered, socket.closing == nil else { throw Failure("no answers to \(requests)") }
    for id in ids {
      let error = memory.state.withLock { $0.replies.removeValue(forKey: id) }?["error"]
      if let code = error?["code"].int { throw Fault(code: code, message: error?["message"].string ?? "") }
    }
  }

  func connect(_ token: String) async throws { try await ask("\"connect\":{\"token\":\"\(token)\"}") }

  /// The result of a call: whatever JSON it is.
  @discardableResult
  func call(_ method: String, _ data: String = "{}") async throws -> JSON {
    try await ask("\"rpc\":{\"method\":\"\(method)\",\"data\":\(data)}")["rpc"]["data"]
  }

  @discardableResult
  func subscribe(_ channel: String, _ more: String = "") async throws -> JSON {
    let result = try await ask("\"subscribe\":{\"channel\":\(JSON.quoted(channel))\(more)}")["subscribe"]
    memory.state.withLock { state in
      for publication in result["publications"].array {
        state.publications[channel, default: []].append(publication)
        Self.apply(publication, to: channel, &state)
      }
    }
    return result
  }

  /// Subscribes to a map as centrifuge-js does: the state page by page, then the stream, until it is live.
  @discardableResult
  func subscribeMap(
    _ channel: String, type: Int = 1, pageSize: Int = 0, recover: (epoch: String, offset: Int)? = nil
  ) async throws -> JSON {
    let page = pageSize > 0 ? ",\"limit\":\(pageSize)" : ""
    let first = memory.state.withLock { $0.pushes.count }
    var position = recover
    var cursor = ""
    var isState = recover == nil
    var entries: [JSON] = []
    while true {
      var more = ",\"type\":\(type),\"phase\":\(isState ? 2 : 1)\(page)"
      if !cursor.isEmpty { more += ",\"cursor\":\(JSON.quoted(cursor))" }
      if let position { more += ",\"epoch\":\"\(position.epoch)\",\"offset\":\(position.offset)" }
      if recover != nil { more += ",\"recover\":true" }
      let result = try await ask("\"subscribe\":{\"channel\":\(JSON.quoted(channel))\(more)}")["subscribe"]
      entries += result["state"].array + result["publications"].array
      cursor = result["cursor"].string ?? ""
      if position == nil || !isState { position = (result["epoch"].string ?? "", result["offset"].int ?? 0) }
      if isState && result["phase"].int == 2 && cursor.isEmpty { isState = false }
      guard (result["phase"].int ?? 0) == 0 else { continue }
      memory.state.withLock { state in
        if recover == nil { state.maps[channel] = [:] }
        for entry in entries { Self.apply(entry, to: channel, &state) }
        // What came live is newer than what was read, though it was here before the last answer was looked at.
        for push in state.pushes[first...] where push["channel"].string == channel {
          Self.apply(push["pub"], to: channel, &state)
        }
      }
      return result
    }
  }

  // MARK: Looking

  func publications(_ channel: String) -> [JSON] { memory.state.withLock { $0.publications[channel] ?? [] } }
  /// The payload of each key of a map channel.
  func map(_ channel: String) -> [String: JSON] {
    memory.state.withLock { $0.maps[channel] ?? [:] }.mapValues { $0["data"] }
  }
  func entry(_ channel: String, _ key: String) -> JSON { JSON.null(memory.state.withLock { $0.maps[channel]?[key] }) }
  var pushes: [JSON] { memory.state.withLock { $0.pushes } }
  /// The code of the last unsubscribe push of a channel.
  func unsubscribed(_ channel: String) -> Int? {
    pushes.last { $0["channel"].string == channel && !$0["unsubscribe"].isNull }?["unsubscribe"]["code"].int
  }
  var closing: WebSocketPeer.Closing? { socket.closing }

  func cut() { socket.cut() }
}

extension JSON {
  fileprivate static func null(_ value: JSON?) -> JSON { value ?? JSON(nil) }
}
