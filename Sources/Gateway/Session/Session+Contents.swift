import Wire

/// Publishing, history and presence.
extension Session {
  mutating func publish(_ id: UInt32, _ ask: ClientCommand.Publish) {
    guard let (channel, options) = resolve(id, ask.channel) else { return }
    let subscription = subscriptions[channel]
    guard access(to: channel, options, subscription).mayPublish else { return fail(id, refusal(options)) }
    if options.kind == .map || ask.map != nil { return publishKey(id, ask, channel, options, subscription) }
    switch payload(ask.data, options.dataFormat, from: format) {
    case .failure(let error): fail(id, error)
    case .success(let data):
      let key = ask.idempotencyKey.flatMap { $0.isEmpty ? nil : $0 }
      let longest = configuration.maximumIdempotencyKeyLength
      guard key?.utf8.count ?? 0 <= longest else {
        return fail(id, .badRequest.saying("the idempotency_key is longer than \(longest) bytes"))
      }
      let info = memberInfo(subscription?.grant?.info)
      let request = BrokerRequest.PublishRequest(channel: channel, data: data, info: info, idempotencyKey: key)
      if options.publishProxy { return askToWrite(.publish(id: id, request), options) }
      guard publishesNow(request, options) else { return send(.publish(id: id)) }
      self.ask(.publish(request), then: .publish(id: id))
    }
  }

  /// The bytes to publish. JSON clients send JSON always, also where the channel holds other bytes.
  func payload(
    _ data: [UInt8], _ dataFormat: DataFormat, from format: WireFormat
  ) -> Result<[UInt8], ClientError> {
    var payload = data
    switch (dataFormat, format) {
    case (.json, .json), (.binary, .protobuf): break
    case (.json, .protobuf):
      guard data.isEmpty || JSONSyntax.isValid(data) else {
        return .failure(.badRequest.saying("the data must be valid JSON on this channel"))
      }
    case (.binary, .json):
      guard data.isEmpty || BinaryPayload.bytes(ofJSON: data) != nil else {
        return .failure(.badRequest.saying("the data must be a string of base64 on this channel"))
      }
      payload = BinaryPayload.bytes(ofJSON: data) ?? []
    }
    guard !payload.isEmpty else { return .failure(.badRequest.saying("the data is empty; publish something")) }
    return .success(payload)
  }

  mutating func history(_ id: UInt32, _ ask: ClientCommand.History) {
    guard let (channel, options) = resolve(id, ask.channel) else { return }
    if let refusal = rules.unavailable(.history, options) { return fail(id, refusal) }
    guard access(to: channel, options).mayReadHistory else { return fail(id, .permissionDenied) }
    let most = configuration.maximumHistoryLimit
    let limit = ask.limit < 0 ? most : min(UInt32(clamping: ask.limit), most)
    let request = BrokerRequest.HistoryRequest(
      channel: channel, limit: limit, since: ask.since, reverse: ask.reverse,
      viewer: options.app == nil ? nil : user)
    reads.insert(
      self.ask(.history(request), then: .history(id: id, binaryData: options.dataFormat == .binary)))
  }

  /// Presence and its statistics go by the same rules: numbers tell of people too.
  mutating func presence(_ id: UInt32, _ name: String, _ operation: PendingOperation) {
    guard let (channel, options) = resolve(id, name) else { return }
    if let refusal = rules.unavailable(.presence, options) { return fail(id, refusal) }
    guard access(to: channel, options).maySeePresence else { return fail(id, .permissionDenied) }
    if case .presenceStats = operation {
      ask(.presenceStats(channel, viewer: options.app == nil ? nil : user), then: operation)
    } else {
      ask(.presence(channel, viewer: options.app == nil ? nil : user), then: operation)
    }
  }
}
