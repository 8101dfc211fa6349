import Wire

/// What a remote procedure call is answered with.
enum CallAnswer {
  /// `{}`
  case nothing
  /// `{"offset":n}`
  case offset
  /// What the app said.
  case result
  /// The same of the deletion of the user's own data, which sends the user away.
  case farewell
  case mapPage(binaryData: Bool)
  /// Counts of unread publications, by channel.
  case unread([String])
}

/// Remote procedure calls: what the protocol has no command for, and the commands of apps.
extension Session {
  mutating func call(_ id: UInt32, _ method: String, _ data: [UInt8]) {
    guard let call = GeneralCall(rawValue: method) else {
      if let account = AccountCall(rawValue: method) { return ask(account, id, data) }
      guard rules.namespaces.apps.contains(where: { isMethod(method, of: $0) }) else {
        if goesToBackend(method) { return askToCall(id, method, data) }
        return fail(id, .notAvailable.saying("there is no method \(excerpt(of: method))"))
      }
      if format == .protobuf && !data.isEmpty && !JSONSyntax.isValid(data) {
        return fail(id, .badRequest.saying("the data of \(excerpt(of: method)) must be valid JSON"))
      }
      return PlaceCall.isOne(method) ? enterPlace(id, data) : callApp(id, method, data)
    }
    do throws(ClientError) {
      try begin(call, id, CallParameters(data))
    } catch {
      fail(id, error)
    }
  }

  func isMethod(_ method: String, of app: String) -> Bool {
    let method = method.utf8
    return method.starts(with: app.utf8) && method.dropFirst(app.utf8.count).first == UInt8(ascii: ".")
  }

  /// Reads a command for an app, and asks the broker. What is wrong with the command by itself is refused here.
  mutating func callApp(_ id: UInt32, _ method: String, _ data: [UInt8], attestedPlace: String? = nil) {
    do throws(ClientError) {
      let command = try AppCommand(method, data, by: user)
      ask(
        .call(.init(command, caller: memberInfo(nil), attestedPlace: attestedPlace)), then: .call(id: id, .result))
    } catch {
      fail(id, error)
    }
  }

  mutating func called(_ id: UInt32, _ answer: CallAnswer, _ response: BrokerResponse) {
    switch (answer, response) {
    case (.nothing, .done), (.nothing, .published): send(.rpc(id: id, data: Array("{}".utf8)))
    case (.offset, .published(let position)):
      send(.rpc(id: id, data: Array("{\"offset\":\(position.offset)}".utf8)))
    // An edit on an app's channel is answered by the app, whose answer has the offset.
    case (.result, .result(let data)), (.offset, .result(let data)), (.farewell, .result(let data)):
      send(.rpc(id: id, data: data))
    case (.mapPage(let binaryData), .mapPage(let page)):
      send(.rpc(id: id, data: MapPageJSON.bytes(of: page, binaryData: binaryData)))
    case (.unread(let channels), .unread(let counts)):
      var writer = JSONWriter()
      writer.object { writer in
        for (channel, count) in zip(channels, counts) { writer.write(named: channel, count) }
      }
      send(.rpc(id: id, data: writer.bytes))
    default: fail(id, response.error)
    }
    if phase == .leaving { end(.invalidToken) }
  }

  // MARK: Methods

  private mutating func begin(
    _ call: GeneralCall, _ id: UInt32, _ parameters: CallParameters
  ) throws(ClientError) {
    switch call {
    case .edit, .delete: try edit(id, parameters, removes: call == .delete)
    case .mapSet, .mapRemove: try writeMap(id, parameters, removes: call == .mapRemove)
    case .mapGet, .mapList: try readMap(id, parameters, isOne: call == .mapGet)
    case .delivered, .read: try receipt(id, parameters, isRead: call == .read)
    case .unread: try unread(id, parameters)
    }
  }

  private mutating func edit(_ id: UInt32, _ parameters: CallParameters, removes: Bool) throws(ClientError) {
    let (channel, options) = try channel(parameters.channel)
    guard access(to: channel, options).mayEdit else {
      throw .permissionDenied.saying("publications of this channel cannot be changed by you")
    }
    guard let offset = parameters.offset else { throw .badRequest.saying("name the offset of the publication") }
    var data: [UInt8]?
    if !removes {
      guard let given = parameters.data else { throw .badRequest.saying("say by what data to replace it") }
      data = try payload(given, options.dataFormat, from: .json).get()
    }
    let request = BrokerRequest.EditRequest(channel: channel, offset: offset, data: data, editor: memberInfo(nil))
    // New data is looked at as it was when it was published; a removal publishes nothing.
    if options.publishProxy && !removes { return askToWrite(.edit(id: id, request), options) }
    ask(.edit(request), then: .call(id: id, .offset))
  }

  private mutating func writeMap(_ id: UInt32, _ parameters: CallParameters, removes: Bool) throws(ClientError) {
    let (channel, options) = try channel(parameters.channel)
    guard access(to: channel, options).mayPublish else { throw refusal(options) }
    guard let key = parameters.key ?? (options.mapClientKey == .given ? nil : "") else {
      throw .badRequest.saying("name the key")
    }
    let write = try keyed(MapWrite(key: key, removed: removes, score: parameters.score), options)
    var data = Array("null".utf8)
    if !removes {
      guard let given = parameters.data else { throw .badRequest.saying("say what data the key is to hold") }
      data = try payload(given, options.dataFormat, from: .json).get()
    }
    let info = memberInfo(subscriptions[channel]?.grant?.info)
    let request = BrokerRequest.PublishRequest(channel: channel, data: data, info: info, write: write)
    if options.publishProxy { return askToWrite(.set(id: id, request), options) }
    guard publishesNow(request, options) else { return send(.rpc(id: id, data: Array("{}".utf8))) }
    ask(.publish(request), then: .call(id: id, .offset))
  }

  private mutating func readMap(_ id: UInt32, _ parameters: CallParameters, isOne: Bool) throws(ClientError) {
    let (channel, options) = try channel(parameters.channel)
    guard options.kind == .map else { throw .badRequest.saying("the channel is not a map") }
    guard access(to: channel, options).mayReadMap else { throw .permissionDenied }
    guard !isOne || parameters.key != nil else { throw .badRequest.saying("name the key") }
    let read = MapRead(
      phase: .state, cursor: parameters.cursor ?? "",
      limit: min(parameters.limit ?? configuration.maximumHistoryLimit, configuration.maximumHistoryLimit),
      isReversed: parameters.reverse)
    let viewer = options.app == nil ? nil : user
    let tag = ask(
      .readMap(.init(channel: channel, key: isOne ? parameters.key : nil, read: read, viewer: viewer)),
      then: .call(id: id, .mapPage(binaryData: options.dataFormat == .binary)))
    if !isOne { reads.insert(tag) }
  }

  private mutating func receipt(_ id: UInt32, _ parameters: CallParameters, isRead: Bool) throws(ClientError) {
    let (channel, options) = try channel(parameters.channel)
    guard options.kind == .map, options.followsChannel, !user.isEmpty else {
      throw .badRequest.saying("name the channel of the receipts, for example \"receipts:chat:42\", as a user")
    }
    guard access(to: channel, options).mayPublish else { throw refusal(options) }
    guard let offset = parameters.offset else { throw .badRequest.saying("name the offset up to which") }
    let receipt = BrokerRequest.ReceiptRequest(
      channel: channel, delivered: isRead ? 0 : offset, read: isRead ? offset : 0, reader: memberInfo(nil))
    ask(.receipt(receipt), then: .call(id: id, .nothing))
  }

  private mutating func unread(_ id: UInt32, _ parameters: CallParameters) throws(ClientError) {
    guard !user.isEmpty, let names = parameters.channels, !names.isEmpty,
      names.count <= configuration.maximumChannels
    else {
      throw .badRequest.saying("name 1 to \(configuration.maximumChannels) channels of receipts, as a user")
    }
    var channels: [ChannelName] = []
    for name in names {
      let (channel, options) = try channel(name)
      guard options.kind == .map, options.followsChannel, options.mapPresence == .none,
        access(to: channel, options).mayReadMap
      else {
        throw .permissionDenied.saying("\(excerpt(of: name)) is not a channel of receipts that you may read")
      }
      channels.append(channel)
    }
    ask(.unread(user: user, channels), then: .call(id: id, .unread(names)))
  }

  private func channel(_ name: String?) throws(ClientError) -> (ChannelName, ChannelOptions) {
    guard let name else { throw .badRequest.saying("name the channel") }
    return try parse(name).get()
  }

  // MARK: Maps

  mutating func publishKey(
    _ id: UInt32, _ ask: ClientCommand.Publish, _ channel: ChannelName, _ options: ChannelOptions,
    _ subscription: SessionSubscription?
  ) {
    do throws(ClientError) {
      // Where the server gives the key, a client may leave it out with all that says that it writes to a map.
      let given = ask.map ?? (options.mapClientKey == .given ? nil : MapWrite(key: ""))
      guard let given, options.kind == .map else {
        throw options.kind == .map
          ? .badRequest.saying("the channel is a map; publish with type 1 and a key")
          : .badRequest.saying("the channel is not a map; publish without a key")
      }
      let write = try keyed(given, options)
      let data = write.removed ? Array("null".utf8) : try payload(ask.data, options.dataFormat, from: format).get()
      let request = BrokerRequest.PublishRequest(
        channel: channel, data: data, info: memberInfo(subscription?.grant?.info),
        idempotencyKey: ask.idempotencyKey.flatMap { $0.isEmpty ? nil : $0 }, write: write)
      if options.publishProxy { return askToWrite(.publish(id: id, request), options) }
      guard publishesNow(request, options) else { return send(.publish(id: id)) }
      self.ask(.publish(request), then: .publish(id: id))
    } catch {
      fail(id, error)
    }
  }

  /// What a client writes, under the key that it may write.
  private func keyed(_ write: MapWrite, _ options: ChannelOptions) throws(ClientError) -> MapWrite {
    switch options.mapClientKey {
    case .given:
      if options.mapKeyIsUser && (user.isEmpty || !write.key.hasSameBytes(as: user)) {
        throw .permissionDenied.saying("on this channel you may write the key of your own user id alone")
      }
      return write
    case .client: return MapWrite(key: identity.client, removed: write.removed, score: write.score)
    case .user:
      guard !user.isEmpty else {
        throw .permissionDenied.saying("on this channel the key is the user id, and you have none; sign in")
      }
      return MapWrite(key: user, removed: write.removed, score: write.score)
    }
  }

  func refusal(_ options: ChannelOptions) -> ClientError {
    guard let app = options.app else { return .permissionDenied }
    return .permissionDenied.saying("the channel is written by the app alone; call a method of \(app)")
  }
}

/// Calls that belong to no app.
enum GeneralCall: String {
  case edit = "publication.edit"
  case delete = "publication.delete"
  case mapSet = "map.set"
  case mapRemove = "map.remove"
  case mapGet = "map.get"
  case mapList = "map.list"
  case delivered = "receipt.delivered"
  case read = "receipt.read"
  case unread = "receipt.unread"

  /// Whether the call changes what others see.
  var writes: Bool {
    switch self {
    case .edit, .delete, .mapSet, .mapRemove, .delivered, .read: true
    case .mapGet, .mapList, .unread: false
    }
  }
}

/// What calls that belong to no app may say.
struct CallParameters {
  var channel: String?
  var channels: [String]?
  var offset: UInt64?
  var data: [UInt8]?
  var key: String?
  var score: Int64?
  var cursor: String?
  var limit: UInt32?
  var reverse: Bool

  init(_ data: [UInt8]) throws(ClientError) {
    let arguments = try JSONArguments(data)
    channel = try arguments.string("channel")
    channels = try arguments.strings("channels")
    offset = try arguments.number("offset")
    self.data = arguments["data"].map { Array($0.bytes) }
    key = try arguments.string("key")
    score = try arguments.number("score")
    cursor = try arguments.string("cursor")
    limit = try arguments.number("limit")
    reverse = try arguments.flag("reverse") ?? false
  }
}
