import Wire
import ZeroMQ

/// Where backend services speak plain ZeroMQ: commands on a ROUTER, publications on an XPUB.
///
///     request    [request id] [method] [parameters, JSON] [payload]     (payload: for publish; may be left out)
///     reply      [request id] ["ok" or "error"] [result, JSON]
///     tap        [channel, then a zero byte] [about the publication, JSON] [payload]
///
/// An empty frame before the request id, as REQ sockets send it, is given back. docs/PROTOCOL.md has all of it.
final class ServiceEndpoint {
  private struct Caller {
    var identity: [UInt8]
    var hasDelimiter: Bool
    var requestID: [UInt8]
    var binaryData = false
  }

  let commands: Socket
  let tap: Socket
  let commandsEndpoint: String
  private let namespaces: NamespaceTable
  let tapEndpoint: String
  var registration: Poller.Registration?
  private var frames: [[UInt8]] = []
  private var callers: [ServiceTag: Caller] = [:]
  private var nextNumber: UInt64 = 0
  private var subscriptions = 0
  /// Replies that could not be sent because the service had gone or reads too slowly.
  private(set) var undelivered: UInt64 = 0

  /// Nil where services are switched off.
  init?(_ endpoints: BrokerEndpoints, namespaces: NamespaceTable, context: Context) throws(ZeroMQError) {
    self.namespaces = namespaces
    guard let commandsAddress = endpoints.commands, let tapAddress = endpoints.tap else { return nil }
    var options = Socket.Options()
    options.lingerMilliseconds = 1000
    options.maxMessageBytes = endpoints.maximumServiceMessageBytes
    options.routerMandatory = true
    options.sendHighWaterMark = 10_000
    options.receiveHighWaterMark = 10_000
    commands = try Socket(context, .router, options)
    try commands.bind(commandsAddress)
    commandsEndpoint = try commands.lastEndpoint
    options.routerMandatory = nil
    // What comes up the tap is subscriptions: a long one costs many times its length in libzmq's tree of prefixes.
    options.maxMessageBytes = 1024
    tap = try Socket(context, .xpub, options)
    try tap.bind(tapAddress)
    tapEndpoint = try tap.lastEndpoint
  }

  // MARK: Commands

  func readCommands(
    limit: Int, bytes: Int, _ serve: (BrokerRequest, ServiceTag) -> Void
  ) throws(ZeroMQError) {
    var left = bytes
    for _ in 0..<limit where left > 0 {
      guard let received = try commands.receiveMultipart(into: &frames, maxFrames: 6) else { return }
      left -= frames.reduce(Ingress.messageCost) { $0 + $1.count }
      guard received.frames >= 2 else { continue }
      let hasDelimiter = frames[1].isEmpty
      let start = hasDelimiter ? 2 : 1
      guard frames.count > start else { continue }
      var caller = Caller(identity: frames[0], hasDelimiter: hasDelimiter, requestID: frames[start])
      let rest = Array(frames[(start + 1)...])
      do throws(ClientError) {
        guard received.surplus == 0 else { throw ServiceRequest.wrongFrames }
        let request = try ServiceRequest.read(rest)
        try check(request)
        let tag = ServiceTag(number: nextNumber)
        nextNumber += 1
        caller.binaryData = isBinary(request.channel)
        callers[tag] = caller
        serve(request, tag)
      } catch {
        send(.failed(error), to: caller)
      }
    }
  }

  /// What a client's gateway checks for it: a payload that is not JSON would break the frames of those who read JSON.
  private func check(_ request: BrokerRequest) throws(ClientError) {
    let data: [UInt8]
    switch request {
    case .publish(let publish) where !isBinary(publish.channel): data = publish.data
    case .edit(let edit) where !isBinary(edit.channel): data = edit.data ?? BrokerCore.noData
    case .call(let call) where !call.data.isEmpty: data = call.data
    default: return
    }
    do { try JSONSyntax.check(data) } catch {
      throw .badRequest.saying(
        "the payload is not JSON: \(error); for other bytes set publication_data_format to binary")
    }
  }

  private func isBinary(_ channel: ChannelName?) -> Bool {
    channel.flatMap(namespaces.options(for:))?.dataFormat == .binary
  }

  func answer(_ tag: ServiceTag, _ response: BrokerResponse) {
    guard let caller = callers.removeValue(forKey: tag) else { return }
    send(response, to: caller)
  }

  private func send(_ response: BrokerResponse, to caller: Caller) {
    let (status, result) = ServiceReply.frames(for: response, binaryData: caller.binaryData)
    var frames = [caller.identity]
    if caller.hasDelimiter { frames.append([]) }
    frames += [caller.requestID, status, result]
    do { try commands.send(multipart: frames) } catch { undelivered += 1 }
  }

  // MARK: Tap

  /// A subscription is a byte 1 and a prefix, its end a byte 0 and the prefix.
  func readSubscriptions() {
    while let received = try? tap.receiveMultipart(into: &frames, maxFrames: 1) {
      guard received.frames == 1, let kind = frames[0].first else { continue }
      subscriptions = max(0, subscriptions + (kind == 1 ? 1 : -1))
    }
  }

  /// XPUB drops what a slow service does not take; it sees the hole in the offsets and asks for the history.
  func tap(_ channel: ChannelName, _ epoch: String, _ publication: Publication) {
    guard subscriptions > 0 else { return }
    let topic = Array(channel.string.utf8) + [ChannelName.topicTerminator]
    let about = ServiceReply.about(publication, epoch: epoch)
    do { try tap.send(multipart: [topic, about, publication.data]) } catch { undelivered += 1 }
  }
}
