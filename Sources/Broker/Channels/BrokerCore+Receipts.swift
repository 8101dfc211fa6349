import Wire

/// Receipts: how much of a channel each user has got and read. The marks only go forward; each user's stand under the
/// user's own key of a map channel.
extension BrokerCore {
  func receipt(
    _ request: BrokerRequest.ReceiptRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    let options = try options(of: request.channel)
    if let app = options.app { throw Self.refusal(of: request.channel, app) }
    guard options.kind == .map, options.followsChannel, options.mapPresence == .none,
      let subject = try? ChannelName(request.channel.rest)
    else {
      throw .badRequest.saying("\"\(request.channel)\" holds no receipts")
    }
    let top = try top(of: subject, for: request.reader.user, in: &turn)
    // Nothing was ever published on the subject, so the receipt changes nothing.
    if top == 0 { return answerAndRemember(requester, .done, in: &turn) }
    let state = try channel(request.channel, in: &turn)
    guard let map = state.map else { preconditionFailure("a channel of kind map is opened with its map") }
    let before = map.latest(request.reader.user).map { ReceiptMarks(json: $0.data) } ?? ReceiptMarks()
    // Whatever was read counts as delivered, and no mark goes beyond the newest publication.
    let read = min(top, max(before.read, request.read))
    let marks = ReceiptMarks(delivered: min(top, max(before.delivered, request.delivered, read)), read: read)
    guard marks != before else {
      return answer(requester, .done, after: map.ticket(of: request.reader.user), in: &turn)
    }
    let publish = BrokerRequest.PublishRequest(
      channel: state.name, data: marks.json, info: request.reader, write: MapWrite(key: request.reader.user))
    try self.publish(publish, for: requester, in: &turn)
  }

  /// The newest offset of a subject. Where that is an app's channel, only users whom the app admits are told.
  private func top(
    of subject: ChannelName, for user: String, in turn: inout Turn
  ) throws(ClientError) -> UInt64 {
    let options = try options(of: subject)
    _ = try admit(user, to: subject, options, in: &turn)
    return try existing(subject, options, in: &turn).top.offset
  }

  /// For each receipts channel, how many publications of its subject lie after the user's mark.
  func unread(_ names: [ChannelName], by user: String, in turn: inout Turn) throws(ClientError) -> BrokerResponse {
    var counts: [UInt64] = []
    // All channels are looked at, so that the store is asked about all that are not in memory together.
    for name in names {
      do throws(ClientError) { counts.append(try unread(name, by: user, in: &turn)) } catch {
        if turn.missing.isEmpty { throw error }
      }
    }
    if !turn.missing.isEmpty { throw .waits }
    return .unread(counts)
  }

  private func unread(_ name: ChannelName, by user: String, in turn: inout Turn) throws(ClientError) -> UInt64 {
    let options = try options(of: name)
    _ = try admit(user, to: name, options, in: &turn)
    guard options.kind == .map, options.mapPresence == .none, let subject = try? ChannelName(name.rest) else {
      throw .badRequest.saying("\"\(name)\" holds no receipts")
    }
    let map = try map(name, options, only: user, in: &turn).map
    let read = map.entry(user).map { ReceiptMarks(json: $0.data).read } ?? 0
    let top = try top(of: subject, for: user, in: &turn)
    return top > read ? top - read : 0
  }
}

/// `{"delivered":7,"read":5}`
struct ReceiptMarks: Equatable {
  var delivered: UInt64 = 0
  var read: UInt64 = 0

  init(delivered: UInt64 = 0, read: UInt64 = 0) {
    self.delivered = delivered
    self.read = read
  }

  /// Reads what ``json`` wrote; anything else counts as no marks.
  init(json: [UInt8]) {
    let numbers = json.split { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      .compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    if numbers.count == 2 { self.init(delivered: numbers[0], read: numbers[1]) } else { self.init() }
  }

  var json: [UInt8] { Array("{\"delivered\":\(delivered),\"read\":\(read)}".utf8) }
}
