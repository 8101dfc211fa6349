import Auth
import Wire

/// What a connection has to do with the backend. An object, so that a session pays one pointer for it; nobody but its
/// session has it.
final class BackendTies {
  /// Raw JSON that the backend or the token attached to the connection.
  var meta: [UInt8]?
  /// For the connect result, until that is sent.
  var connectData: [UInt8] = []
  /// Calls that are not answered. Each counts until its answer, whatever became of what it was for.
  var callsUnderWay = 0
  /// The publish or call that the backend is asked about: what would go to the backend behind it waits, so that the
  /// backend sees them in their order, and publications keep theirs.
  var orderedTag: UInt64?
  /// When the backend is asked whether the connection goes on, in seconds since 1970; `Int64.max`: not, or it is asked.
  var refreshAt = Int64.max
  /// The same for the first of the subscriptions, or earlier.
  var subscriptionsRefreshAt = Int64.max

  var nextRefreshAt: Int64 { min(refreshAt, subscriptionsRefreshAt) }
}

/// Something to publish that the backend has to agree to.
enum ProxiedWrite {
  case publish(id: UInt32, BrokerRequest.PublishRequest)
  /// A key of a map, by a call.
  case set(id: UInt32, BrokerRequest.PublishRequest)
  case edit(id: UInt32, BrokerRequest.EditRequest)

  var id: UInt32 {
    switch self {
    case .publish(let id, _), .set(let id, _), .edit(let id, _): id
    }
  }

  var channel: ChannelName {
    switch self {
    case .publish(_, let request), .set(_, let request): request.channel
    case .edit(_, let request): request.channel
    }
  }
}

/// Decisions that are put to the backend. Whatever it says, or does not say, the client's command is answered once.
extension Session {
  mutating func tied() -> BackendTies {
    if let ties { return ties }
    let ties = BackendTies()
    self.ties = ties
    return ties
  }

  @discardableResult
  mutating func askBackend(_ question: ProxyQuestion, then operation: PendingOperation) -> UInt64 {
    let tag = remember(operation)
    tied().callsUnderWay += 1
    out.append(.askBackend(tag: tag, question))
    return tag
  }

  mutating func backendAnswered(_ tag: UInt64, _ answer: ProxyAnswer) {
    if let ties {
      ties.callsUnderWay -= 1
      if ties.orderedTag == tag { ties.orderedTag = nil }
    }
    guard let operation = pending.removeValue(forKey: tag) else { return }
    if case .failed(let fault) = answer, fault != .closed { out.append(.note(fault.cause)) }
    if case .disconnect(let code) = answer {
      if case .backendConnect = operation { noteRefusedSignIn("the backend ends it with code \(code.code)") }
      return end(code)
    }
    switch operation {
    case .backendConnect(let id, let subs, let claims): backendConnected(id, subs, claims, answer)
    case .subscriptionToken(let command, let channel): backendSubscribed(command, channel, answer)
    case .backendWrite(let write): backendWrote(write, answer)
    case .backendCall(let id): backendCalled(id, answer)
    case .backendRefresh: backendRefreshed(answer)
    case .backendSubRefresh(let channel): backendSubRefreshed(channel, tag, answer)
    default: preconditionFailure("tag \(tag) is not the backend's: the driver mixed up its answers")
    }
  }

  /// Whether a command has to wait until the backend has answered others of this client.
  func waitsForBackend(_ command: ClientCommand) -> Bool {
    guard let ties else { return false }
    let isFull = ties.callsUnderWay >= rules.proxies.callsPerClient
    switch command.body {
    case .subscribe: return isFull
    case .publish: return isFull || ties.orderedTag != nil
    case .rpc(let method, _):
      guard GeneralCall(rawValue: method)?.writes ?? goesToBackend(method) else { return false }
      return isFull || ties.orderedTag != nil
    default: return false
    }
  }

  // MARK: Connect

  /// - Parameter claims: those of a valid token; nil: the client brought none.
  mutating func askToConnect(_ id: UInt32, _ ask: ClientCommand.Connect, _ claims: ConnectionClaims?) {
    if rules.proxies.passesMeta, let meta = claims?.meta { tied().meta = meta }
    let question = ProxyQuestion.Connect(
      user: claims?.user, name: ask.name, version: ask.version, data: ask.data, channels: ask.subs.keys.sorted())
    askBackend(.connect(question), then: .backendConnect(id: id, subs: ask.subs, claims))
  }

  private mutating func backendConnected(
    _ id: UInt32, _ subs: [String: ClientCommand.Subscribe], _ claims: ConnectionClaims?, _ answer: ProxyAnswer
  ) {
    switch answer {
    case .disconnect(let code): end(code)
    case .error(let error): refuse(error, because: "the backend answers with error \(error.code)")
    case .failed(let fault):
      guard let claims, rules.proxies.goesByToken(.connect) else {
        return refuse(fault.error, because: "the backend gave no usable answer (\(fault.rawValue))")
      }
      accept(claims, recovering: subs)
    case .result(let result):
      if let claims, let user = result.user, !user.isEmpty, !user.hasSameBytes(as: claims.user) {
        noteRefusedSignIn("the backend names another user than the token")
        return end(.invalidToken)
      }
      guard fits(result.data, .json) else {
        return refuse(unusable(), because: "the backend's data for the client is not JSON")
      }
      var merged = claims ?? ConnectionClaims(user: result.user ?? "")
      merged.expiresAt = [claims?.expiresAt, result.expiresAt].compactMap { $0 }.min()
      if let expiry = merged.expiresAt, expiry <= time.wall {
        return refuse(.expired, because: "the backend says that the connection has expired")
      }
      merged.info = result.grant.info ?? merged.info
      merged.meta = result.meta ?? merged.meta
      for (channel, grant) in result.subscriptions { merged.subscriptions[channel] = grant }
      if let data = result.data { tied().connectData = data }
      accept(merged, recovering: subs)
    }
  }

  /// For the log of what must be proved later: clients are told less.
  private mutating func noteRefusedSignIn(_ reason: String) { out.append(.signInRefused(.backend, reason)) }

  private mutating func refuse(_ error: ClientError, because reason: String) {
    noteRefusedSignIn(reason)
    refuse(error)
  }

  // MARK: Subscribe

  mutating func askToSubscribe(_ command: QueuedSubscribe, _ channel: ChannelName) {
    let question = ProxyQuestion.subscribe(channel: channel.string, data: command.ask.data)
    let tag = askBackend(question, then: .subscriptionToken(command, channel))
    subscriptions[channel] = SessionSubscription(phase: .checkingToken(tag: tag))
  }

  private mutating func backendSubscribed(
    _ command: QueuedSubscribe, _ channel: ChannelName, _ answer: ProxyAnswer
  ) {
    subscriptions[channel] = nil
    let id = command.id
    guard let (_, options) = resolve(id, channel.string) else { return }
    switch answer {
    case .disconnect(let code): end(code)
    case .error(let error): fail(id, error)
    case .failed(let fault):
      let goesByToken = rules.proxies.goesByToken(.subscribe)
      guard goesByToken, access(to: channel, options).maySubscribeByOptions else { return fail(id, fault.error) }
      order(SubscribeOrder(id: id, channel: channel, options: options, ask: command.ask, grant: .init()))
    case .result(let result):
      guard fits(result.grant.data, options.dataFormat) else { return fail(id, unusable()) }
      if let expiry = result.expiresAt, expiry <= time.wall { return fail(id, .expired) }
      order(
        SubscribeOrder(
          id: id, channel: channel, options: options, ask: command.ask, grant: result.grant,
          expiresAt: result.expiresAt))
    }
  }

  // MARK: Publish

  /// Asks the backend about something that the namespace allows this client to publish.
  mutating func askToWrite(_ write: ProxiedWrite, _ options: ChannelOptions) {
    var question = ProxyQuestion.Publish(
      channel: write.channel.string, data: [], isBinary: options.dataFormat == .binary)
    switch write {
    case .publish(_, let request), .set(_, let request):
      question.data = request.data
      question.write = request.write
      if request.write?.removed == true { question.isBinary = false }
    case .edit(_, let request):
      question.data = request.data ?? []
      question.offset = request.offset
    }
    tied().orderedTag = askBackend(.publish(question), then: .backendWrite(write))
  }

  private mutating func backendWrote(_ write: ProxiedWrite, _ answer: ProxyAnswer) {
    let id = write.id
    var data: [UInt8]?
    switch answer {
    case .disconnect(let code): return end(code)
    case .error(let error): return fail(id, error)
    case .failed(let fault): guard rules.proxies.goesByToken(.publish) else { return fail(id, fault.error) }
    case .result(let result):
      if result.skipsHistory { return fail(id, .cannotSkipHistory) }
      data = result.data
    }
    guard let (channel, options) = resolve(id, write.channel.string) else { return }
    if let data {
      let isUsable = !data.isEmpty && (options.dataFormat == .binary || JSONSyntax.isValid(data))
      guard isUsable else { return fail(id, unusable()) }
    }
    perform(write, with: data, access(to: channel, options), options)
  }

  /// Publishes what the backend has agreed to.
  ///
  /// - Parameters:
  ///   - data: what the backend wants published instead; nil: what the client sent.
  ///   - access: as it is now: the client may have lost its subscription while the backend was asked.
  private mutating func perform(
    _ write: ProxiedWrite, with data: [UInt8]?, _ access: ChannelAccess, _ options: ChannelOptions
  ) {
    let id = write.id
    switch write {
    case .publish(_, var request), .set(_, var request):
      guard access.mayPublish else { return fail(id, refusal(options)) }
      if let data, request.write?.removed != true { request.data = data }
      let (operation, reply): (PendingOperation, ClientReply) =
        if case .publish = write {
          (.publish(id: id), .publish(id: id))
        } else {
          (.call(id: id, .offset), .rpc(id: id, data: Array("{}".utf8)))
        }
      if publishesNow(request, options) { ask(.publish(request), then: operation) } else { send(reply) }
    case .edit(_, var request):
      guard access.mayEdit else { return fail(id, refusal(options)) }
      if let data { request.data = data }
      ask(.edit(request), then: .call(id: id, .offset))
    }
  }

  // MARK: Calls

  /// Whether a call is the backend's: one whose name is none of ours, nor an app's, switched on or not.
  func goesToBackend(_ method: String) -> Bool {
    rules.proxies.asks(.rpc) && GeneralCall(rawValue: method) == nil
      && !Self.ownPrefixes.contains { isMethod(method, of: $0) }
  }

  private static let ownPrefixes = ["clique", "state", "fanfare"]

  mutating func askToCall(_ id: UInt32, _ method: String, _ data: [UInt8]) {
    tied().orderedTag = askBackend(.rpc(method: method, data: data), then: .backendCall(id: id))
  }

  private mutating func backendCalled(_ id: UInt32, _ answer: ProxyAnswer) {
    switch answer {
    case .disconnect(let code): end(code)
    case .error(let error): fail(id, error)
    case .failed(let fault): fail(id, fault.error)
    case .result(let result):
      guard fits(result.data, .json) else { return fail(id, unusable()) }
      send(.rpc(id: id, data: result.data ?? []))
    }
  }

  // MARK: What the backend may say

  /// Whether a payload can be sent to this client: bytes that are no JSON break a JSON client's frame.
  private func fits(_ data: [UInt8]?, _ dataFormat: DataFormat) -> Bool {
    guard let data, !data.isEmpty, format == .json, dataFormat == .json else { return true }
    return JSONSyntax.isValid(data)
  }

  /// The backend answered with what cannot be used here.
  private mutating func unusable() -> ClientError {
    out.append(.note(.backend))
    return ProxyFault.failed.error
  }
}

extension ProxyFault {
  /// For the log and the metrics of refusals.
  var cause: RefusalCause { self == .bound ? .backendCalls : .backend }

  /// For the client: temporary, so that an SDK tries again.
  var error: ClientError {
    switch self {
    case .bound: .tooManyRequests.saying("too much is being asked of the backend; try again in a moment")
    case .closed: .internalError.saying("the server ends; connect again")
    case .timeout, .failed, .breaker:
      .internalError.saying("the backend gave no answer that could be used; try again in a moment")
    }
  }
}

extension ClientError {
  fileprivate static let cannotSkipHistory = ClientError.notAvailable.saying(
    "the backend wants the publication kept out of the history, which this server cannot do")
}
