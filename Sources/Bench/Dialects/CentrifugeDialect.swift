import COpenSSL
import Glibc

/// The Centrifuge client protocol, version 2, as JSON or Protobuf.
///
/// A phase leads to the next: 0 waits for the answer to `connect`, 1 for those to `subscribe`, 2 is all confirmed.
struct CentrifugeDialect: Dialect {
  let isProtobuf: Bool
  let path: String
  let publishPath: String
  /// Whether positions are wanted: publications are parsed in full then.
  let isRecovering: Bool
  /// Publications go through the rules of Clique: each channel is a conversation of the writer with a reader of its own.
  let isClique: Bool
  /// Publications are sends of State, and what arrives are the notifications of them.
  let exchange: StateExchange?
  let secret: String?
  let token: String?

  init(target: Target, scenario: Scenario) throws(BenchError) {
    guard ["json", "protobuf"].contains(scenario.format) else {
      throw BenchError("format \(scenario.format) is unknown: json and protobuf are possible")
    }
    isProtobuf = scenario.format == "protobuf"
    path = try ServerAddress(target.url).path
    publishPath = try target.publishURL.map { url throws(BenchError) in try ServerAddress(url).path } ?? path
    isRecovering = scenario.measure == .resume
    isClique = target.dialect == CliqueConversations.dialect
    if isClique && isProtobuf { throw BenchError("Clique is measured in JSON; set the scenario's format to json") }
    exchange = target.dialect == StateExchange.dialect ? try StateExchange(scenario) : nil
    (secret, token) = (target.secret, target.token)
  }

  var answersPublications: Bool { true }

  func framing(_ role: Role) -> Framing {
    .webSocket(
      path: role == .publisher ? publishPath : path, subprotocol: isProtobuf ? "centrifuge-protobuf" : nil,
      binary: isProtobuf)
  }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    let user = exchange?.user(state) ?? (isClique ? CliqueConversations.user(state) : "bench-\(state.client)")
    let token = token ?? secret.map { Self.makeToken(user: user, secret: $0, now: Glibc.time(nil)) }
    if isProtobuf {
      var request = ProtobufWriter()
      if let token { request.field(1, token) }
      request.field(4, "fanfare-bench")
      command(4, request, &state, &out)
    } else {
      let token = token.map { "\"token\":\"\($0)\"," } ?? ""
      out.append("{\"id\":\(Self.takeID(&state)),\"connect\":{\(token)\"name\":\"fanfare-bench\"}}")
    }
    out.endMessage()
  }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    if isProtobuf {
      unsafe try receiveProtobuf(bytes, &state, &sink, &out)
    } else {
      unsafe try receiveJSON(bytes, &state, &sink, &out)
    }
    return bytes.count
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    if isProtobuf {
      // Sizes are worked out first, because the request's length stands before the request.
      let channelSize = channel.utf8.count
      let size =
        2 + Varint.size(channelSize) + channelSize + Varint.size(content.count) + content.count
      let id = Int(Self.takeID(&state))
      let whole = 2 + Varint.size(id) + Varint.size(size) + size
      Varint.append(whole, to: &out.bytes)
      out.bytes.append(0x08)
      Varint.append(id, to: &out.bytes)
      out.bytes.append(0x3A)
      Varint.append(size, to: &out.bytes)
      out.bytes.append(0x0A)
      Varint.append(channelSize, to: &out.bytes)
      out.append(channel)
      out.bytes.append(0x12)
      Varint.append(content.count, to: &out.bytes)
      // Data is JSON in this format too.
      out.bytes.append(UInt8(ascii: "\""))
      unsafe out.append(UnsafeRawBufferPointer(rebasing: content.dropLast(2)))
      out.bytes.append(UInt8(ascii: "\""))
    } else if isClique {
      out.append("{\"id\":")
      out.append(String(Self.takeID(&state)))
      out.append(",\"rpc\":{\"method\":\"clique.send\",\"data\":{\"conversation\":\"")
      out.append(CliqueConversations.shared.id(of: channel))
      out.append("\",\"text\":\"")
      unsafe out.append(UnsafeRawBufferPointer(rebasing: content.dropLast(2)))
      out.append("\"}}}")
    } else if let exchange {
      let receiver = StateExchange.index(of: channel)
      unsafe exchange.noteSend(content, to: receiver)
      out.append(
        "{\"id\":\(Self.takeID(&state)),\"rpc\":{\"method\":\"state.send\",\"data\":{\"to\":\""
          + StateExchange.receiver(receiver) + "\",\"front\":\"" + StateExchange.picture(receiver, isFront: true)
          + "\",\"rear\":\"" + StateExchange.picture(receiver, isFront: false) + "\"}}}")
    } else {
      out.append("{\"id\":")
      out.append(String(Self.takeID(&state)))
      out.append(",\"publish\":{\"channel\":\"")
      out.append(channel)
      out.append("\",\"data\":\"")
      unsafe out.append(UnsafeRawBufferPointer(rebasing: content.dropLast(2)))
      out.append("\"}}")
    }
    out.endMessage()
  }

  // MARK: What both formats share

  static func takeID(_ state: inout DialectState) -> UInt32 {
    defer { state.nextID &+= 1 }
    return state.nextID
  }

  /// Whether a publication that is refused so would be refused for ever: nothing can be measured then.
  static func isFinal(_ code: UInt64) -> Bool { [101, 102, 103, 107, 108, 109].contains(code) }

  /// The server answered `connect`, or something later: says what the connection does next.
  func connected(answersPings: Bool, _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing) {
    state.answersPings = answersPings
    guard state.phase == 0 else { return }
    state.phase = 1
    if state.channels.isEmpty {
      state.phase = 2
      return sink.confirm()
    }
    for index in state.channels.indices {
      subscribe(index, isFirst: index % Self.subscribesPerMessage == 0, &state, &out)
      if (index + 1) % Self.subscribesPerMessage == 0 || index + 1 == state.channels.count { out.endMessage() }
    }
  }

  /// A server takes so many commands at a time, whatever its limit.
  private static let subscribesPerMessage = 64

  private func subscribe(_ index: Int, isFirst: Bool, _ state: inout DialectState, _ out: inout Outgoing) {
    var channel = state.channels[index]
    if isClique {
      channel = "clique.chat:" + CliqueConversations.shared.id(of: channel)
    } else if let exchange {
      channel = "state.events:" + exchange.user(state)
    }
    let recovers = state.recovers && index < state.epochs.count
    if isProtobuf {
      var request = ProtobufWriter()
      request.field(1, channel)
      if recovers {
        request.field(3, 1)
        request.field(6, state.epochs[index])
        request.field(7, state.offsets[index])
      }
      command(5, request, &state, &out)
    } else {
      let position =
        recovers ? ",\"recover\":true,\"epoch\":\"\(state.epochs[index])\",\"offset\":\(state.offsets[index])" : ""
      // Several commands in a message stand on lines of their own.
      let line = isFirst ? "" : "\n"
      out.append("\(line){\"id\":\(Self.takeID(&state)),\"subscribe\":{\"channel\":\"\(channel)\"\(position)}}")
    }
  }

  private func command(
    _ field: Int, _ request: ProtobufWriter, _ state: inout DialectState, _ out: inout Outgoing
  ) {
    var command = ProtobufWriter()
    command.field(1, UInt64(Self.takeID(&state)))
    command.field(field, request.bytes)
    Varint.append(command.bytes.count, to: &out.bytes)
    out.bytes += command.bytes
  }

  func refusal(_ code: UInt64, _ message: String, _ state: DialectState) -> BenchError {
    let isPublishing = state.role == .publisher && state.phase > 1
    let what =
      state.phase == 0
      ? "connect" : isPublishing ? "publish" : "subscribe to \(state.channels.first ?? "a channel")"
    let advice =
      switch code {
      case 101, 109: "give --token, or --secret-file with the server's secret (fanfare serve: data/secret.key)"
      case 102: "name a namespace that it has with --namespace, or configure this one (channel.namespaces)"
      case 103:
        "allow it in the channel's namespace (\(isPublishing ? "allow_publish_for_subscriber" : "allow_subscribe_for_client")), "
          + "or name another namespace with --namespace"
      case 106: "raise the server's limit (of channels for each client: client.max_channels), or ask for less"
      default: "see what the server's log says"
      }
    return BenchError("the server refuses to \(what) with error \(code), \(message): \(advice).")
  }

  /// A connection token, HS256, that expires in an hour.
  static func makeToken(user: String, secret: String, now: Int) -> String {
    let head = Base64.encodeForURL(Array("{\"alg\":\"HS256\",\"typ\":\"JWT\"}".utf8))
    let body = Base64.encodeForURL(Array("{\"sub\":\"\(user)\",\"exp\":\(now + 3600)}".utf8))
    let text = Array("\(head).\(body)".utf8)
    let key = Array(secret.utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 32
    _ = unsafe HMAC(EVP_sha256(), key, Int32(clamping: key.count), text, text.count, &digest, &length)
    return "\(head).\(body).\(Base64.encodeForURL(digest))"
  }
}
