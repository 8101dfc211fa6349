import Foundation
import Synchronization
import TestSupport
import Testing

/// A client of the JSON protocol over ``WebSocketPeer``, or ``StreamPeer``: remembers everything that it was told.
///
/// Payloads are JSON strings.
final class Peer: Sendable {
  struct Position: Codable, Sendable, Equatable {
    var epoch: String
    var offset: UInt64
  }

  struct Info: Decodable, Sendable, Equatable {
    var user: String?
    var client: String?
  }

  struct Publication: Decodable, Sendable, Equatable {
    var offset: UInt64?
    var data: String
    var info: Info?
    var delta: Bool?
  }

  struct Subscribed: Decodable, Sendable {
    var epoch: String?
    var offset: UInt64?
    var recoverable: Bool?
    var recovered: Bool?
    var was_recovering: Bool?
    var publications: [Publication]?
    var delta: Bool?
    var gap: Gap?

    struct Gap: Decodable, Sendable, Equatable {
      var from: UInt64?
      var to: UInt64?
      var reason: String
    }

    var position: Position { Position(epoch: epoch ?? "", offset: offset ?? 0) }
  }

  struct Reply: Decodable, Sendable {
    struct Fault: Decodable, Sendable, Equatable, Error {
      var code: Int
      var message: String
      var temporary: Bool?
    }
    struct Connected: Decodable, Sendable {
      var client: String
      var session: String?
      var subs: [String: Subscribed]?
    }
    struct Members: Decodable, Sendable { var presence: [String: Info] }
    struct Stats: Decodable, Sendable {
      var num_clients: Int?
      var num_users: Int?
    }
    struct Pushed: Decodable, Sendable {
      struct Change: Decodable, Sendable { var info: Info }
      struct Unsubscribed: Decodable, Sendable { var code: Int }
      struct Begun: Decodable, Sendable {
        var epoch: String?
        var offset: UInt64?
        var data: String?
      }
      struct Slot: Decodable, Sendable { var after: Int64 }
      var channel: String?
      var reconnect: Slot?
      var pub: Publication?
      var join: Change?
      var leave: Change?
      var unsubscribe: Unsubscribed?
      var subscribe: Begun?
      var refresh: Expiry?
    }
    struct Expiry: Decodable, Sendable, Equatable {
      var expires: Bool?
      var ttl: Int?
    }
    var id: UInt32?
    var error: Fault?
    var connect: Connected?
    var subscribe: Subscribed?
    var history: Subscribed?
    var presence: Members?
    var presence_stats: Stats?
    var push: Pushed?
  }

  enum Event: Sendable, Equatable {
    case join(String)
    case leave(String)
    /// By the server, with the data that it gave.
    case subscribed(Position, String?)
    case unsubscribed(Int)
  }

  private struct State {
    var lastID: UInt32 = 0
    var subscribing: [UInt32: String] = [:]
    var replies: [UInt32: Reply] = [:]
    var publications: [String: [Publication]] = [:]
    var events: [String: [Event]] = [:]
    var expiries: [Reply.Expiry] = []
    var slot: Int64?
  }

  let url: String
  let socket: any PeerSocket
  private let state: StateBox

  private final class StateBox: Sendable {
    let mutex = Mutex(State())
    let socket = Mutex<WebSocketReference?>(nil)
  }

  private struct WebSocketReference: Sendable { weak var peer: (any PeerSocket)? }

  /// - Parameter kind: how the server is heard where no WebSocket is let through; nil: over a WebSocket.
  init(
    _ url: String, over kind: StreamPeer.Kind? = nil, receiveBufferBytes: Int32? = nil, from source: String? = nil,
    headers: [String] = [], preface: [UInt8] = []
  ) throws {
    self.url = url
    let box = StateBox()
    state = box
    let take: @Sendable (String) -> Void = { message in
      // The server's ping.
      if message == "{}" {
        box.socket.withLock { $0?.peer }?.send("{}")
      } else {
        Self.take(message, box)
      }
    }
    if let kind {
      socket = try StreamPeer(url, kind, receiveBufferBytes: receiveBufferBytes, onMessage: take)
    } else {
      socket = try WebSocketPeer(
        url, receiveBufferBytes: receiveBufferBytes, from: source, headers: headers, preface: preface, onMessage: take)
    }
    box.socket.withLock { [socket] in $0 = WebSocketReference(peer: socket) }
  }

  private static func take(_ message: String, _ box: StateBox) {
    guard let reply = try? JSONDecoder().decode(Reply.self, from: Data(message.utf8)) else {
      Issue.record("a client cannot read what it was sent: \(message)")
      return
    }
    box.mutex.withLock { state in
      if let id = reply.id {
        state.replies[id] = reply
        if let channel = state.subscribing[id], let result = reply.subscribe {
          state.publications[channel, default: []] += result.publications ?? []
        }
        for (channel, result) in reply.connect?.subs ?? [:] {
          state.publications[channel, default: []] += result.publications ?? []
        }
      } else if let push = reply.push, let channel = push.channel {
        if let publication = push.pub { state.publications[channel, default: []].append(publication) }
        if let join = push.join { state.events[channel, default: []].append(.join(join.info.user ?? "")) }
        if let leave = push.leave { state.events[channel, default: []].append(.leave(leave.info.user ?? "")) }
        if let begun = push.subscribe {
          let position = Position(epoch: begun.epoch ?? "", offset: begun.offset ?? 0)
          state.events[channel, default: []].append(.subscribed(position, begun.data))
        }
        if let end = push.unsubscribe { state.events[channel, default: []].append(.unsubscribed(end.code)) }
      } else if let expiry = reply.push?.refresh {
        state.expiries.append(expiry)
      } else if let slot = reply.push?.reconnect {
        state.slot = slot.after
      }
    }
  }

  // MARK: What it was told

  func publications(_ channel: String) -> [Publication] { state.mutex.withLock { $0.publications[channel] ?? [] } }
  func data(_ channel: String) -> [String] { publications(channel).map(\.data) }
  func events(_ channel: String) -> [Event] { state.mutex.withLock { $0.events[channel] ?? [] } }
  /// What the server pushed of when the connection expires.
  var expiries: [Reply.Expiry] { state.mutex.withLock { $0.expiries } }
  /// In how many milliseconds it is to come back, as a server that ends has told it; nil: it was not told.
  var slot: Int64? { state.mutex.withLock { $0.slot } }
  func reply(_ id: UInt32) -> Reply? { state.mutex.withLock { $0.replies[id] } }

  // MARK: Commands

  /// Sends without waiting. The body is the command's JSON without its braces.
  @discardableResult
  func send(_ body: String, subscribingTo channel: String? = nil) -> UInt32 {
    let id = state.mutex.withLock { state in
      state.lastID += 1
      if let channel { state.subscribing[state.lastID] = channel }
      return state.lastID
    }
    socket.send(#"{"id":\#(id),\#(body)}"#)
    return id
  }

  /// The answer, an error too. Throws where none comes.
  func ask(_ body: String, subscribingTo channel: String? = nil, within limit: Duration = .seconds(60)) async throws
    -> Reply
  {
    let id = send(body, subscribingTo: channel)
    guard await eventually(within: limit, { self.reply(id) != nil || self.socket.closing != nil }),
      let reply = reply(id)
    else { throw Failure("no answer to \(body.prefix(200)); closing: \(String(describing: socket.closing))") }
    return reply
  }

  @discardableResult
  func connect(
    token: String, subs: [String: Position] = [:], name: String = "test", reconnects: Bool = false
  ) async throws -> Reply.Connected {
    var body = #""connect":{"token":\#(quoted(token)),"name":\#(quoted(name))"#
    if reconnects { body += #","reconnects":true"# }
    if !subs.isEmpty {
      let entries = subs.map {
        #"\#(quoted($0)):{"recover":true,"epoch":\#(quoted($1.epoch)),"offset":\#($1.offset)}"#
      }
      body += #","subs":{\#(entries.joined(separator: ","))}"#
    }
    let reply = try await ask(body + "}")
    if let error = reply.error { throw error }
    guard let connected = reply.connect else { throw Failure("no connect in the answer") }
    return connected
  }

  @discardableResult
  func subscribe(_ channel: String, since: Position? = nil, token: String? = nil) async throws -> Subscribed {
    var body = #""subscribe":{"channel":\#(quoted(channel))"#
    if let since { body += #","recover":true,"epoch":\#(quoted(since.epoch)),"offset":\#(since.offset)"# }
    if let token { body += #","token":\#(quoted(token))"# }
    let reply = try await ask(body + "}", subscribingTo: channel)
    if let error = reply.error { throw error }
    guard let result = reply.subscribe else { throw Failure("no subscribe in the answer") }
    return result
  }

  /// Sends a publish without waiting for its answer.
  func sendPublish(_ data: String, to channel: String, key: String? = nil) -> UInt32 {
    send(Self.publishBody(data, channel, key))
  }

  func publish(_ data: String, to channel: String, key: String? = nil) async throws {
    let reply = try await ask(Self.publishBody(data, channel, key))
    if let error = reply.error { throw error }
  }

  private static func publishBody(_ data: String, _ channel: String, _ key: String?) -> String {
    var body = #""publish":{"channel":\#(quoted(channel)),"data":\#(quoted(data))"#
    if let key { body += #","idempotency_key":\#(quoted(key))"# }
    return body + "}"
  }

  func history(_ channel: String, limit: Int, since: Position? = nil, reverse: Bool = false) async throws -> Subscribed
  {
    var body = #""history":{"channel":\#(quoted(channel)),"limit":\#(limit),"reverse":\#(reverse)"#
    if let since { body += #","since":{"epoch":\#(quoted(since.epoch)),"offset":\#(since.offset)}"# }
    let reply = try await ask(body + "}")
    if let error = reply.error { throw error }
    guard let result = reply.history else { throw Failure("no history in the answer") }
    return result
  }

  func presentUsers(_ channel: String) async throws -> [String] {
    let reply = try await ask(#""presence":{"channel":\#(quoted(channel))}"#)
    if let error = reply.error { throw error }
    return (reply.presence?.presence.values.map { $0.user ?? "" } ?? []).sorted()
  }
}

/// A JSON string.
func quoted(_ text: String) -> String {
  guard let data = try? JSONEncoder().encode(text) else { return "\"\"" }
  return String(decoding: data, as: UTF8.self)
}
