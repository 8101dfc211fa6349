import Wire

/// Who got and read how much of a channel: marks that only go forward, each user's under its own key of a map channel.
extension BrokerCore {
  func receipt(
    _ request: BrokerRequest.ReceiptRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    let options = try options(of: request.channel)
    if let app = options.app { throw Self.refusal(of: request.channel, app) }
    guard options.kind == .map, options.followsChannel, let subject = try? ChannelName(request.channel.rest) else {
      throw .badRequest.saying("\"\(request.channel)\" holds no receipts")
    }
    let top = try top(of: subject, for: request.reader.user, in: &turn)
    // Nothing was said there, so there is nothing to have got.
    if top == 0 { return settle(requester, .done, in: &turn) }
    let state = try channel(request.channel, in: &turn)
    guard let map = state.map else { preconditionFailure("a channel of kind map is opened with its map") }
    let before = map.latest(request.reader.user).map { ReceiptMarks(json: $0.data) } ?? ReceiptMarks()
    // What was read was delivered, and nobody read what is still to come.
    let read = min(top, max(before.read, request.read))
    let marks = ReceiptMarks(delivered: min(top, max(before.delivered, request.delivered, read)), read: read)
    guard marks != before else {
      return answer(requester, .done, after: map.ticket(of: request.reader.user), in: &turn)
    }
    let publish = BrokerRequest.PublishRequest(
      channel: state.name, data: marks.json, info: request.reader, write: MapWrite(key: request.reader.user))
    try self.publish(publish, for: requester, in: &turn)
  }

  /// Where the subject is an app's, how much was said there is for those alone whom the app admits.
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
    // What the store has to be asked, it is asked for all of them together.
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
    guard options.kind == .map, let subject = try? ChannelName(name.rest) else {
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

  /// Of what ``json`` wrote; anything else is no mark.
  init(json: [UInt8]) {
    let numbers = json.split { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      .compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    if numbers.count == 2 { self.init(delivered: numbers[0], read: numbers[1]) } else { self.init() }
  }

  var json: [UInt8] { Array("{\"delivered\":\(delivered),\"read\":\(read)}".utf8) }
}
