import Apps
import Log
import Wire

/// What services ask about users' data.
extension BrokerCore {
  func serve(_ request: UserRequest, for requester: Requester, in turn: inout Turn) throws(ClientError) {
    if requester.isGateway { return try serveOwn(request, for: requester, in: &turn) }
    switch request {
    case .delete(let deletion): try delete(deletion, for: requester, in: &turn)
    case .deletionStatus(let user): answer(requester, try deletionStatus(of: user), in: &turn)
    case .data(let user): try begin(UserLook(.counts, of: user, from: .disk(.start), for: requester), in: &turn)
    case .export(let user, let text):
      guard let cursor = UserLook.Cursor(text) else {
        throw .badRequest.saying("this is no cursor of an export; send the one of the page before, or none")
      }
      try begin(UserLook(.export, of: user, from: cursor, for: requester), in: &turn)
    case .pair(let app, let user, let other):
      let host = try host(app)
      let standing = try consult(host, in: &turn) { (lens) throws(ClientError) in
        try host.app.standing(between: user, and: other, lens)
      }
      answer(requester, .result(standing), in: &turn)
    case .groups(let query):
      let host = try host("clique")
      let groups = try consult(host, in: &turn) { (lens) throws(ClientError) in try host.app.groups(query, lens) }
      answer(requester, .result(groups), in: &turn)
    case .suspensions(let request): try serve(request, for: requester, in: &turn)
    case .reports(.picture(let request)):
      try show(request, of: try host("clique"), for: requester, in: &turn)
    case .reports(let request):
      let host = try host("clique")
      let decision = try consult(host, in: &turn) { (lens) throws(ClientError) in
        try host.app.moderate(request, lens)
      }
      try carryOut(decision, of: host, for: requester, in: &turn)
    case .unblock(let user, let other):
      _ = try host("clique")
      // As the user's own phone does it, so that lists, groups and what comes after are the same.
      let command = AppCommand.clique(.unblock(.person(other)))
      try call(.init(command, caller: ClientInfo(user: user, client: "service")), for: requester, in: &turn)
    }
  }

  private func host(_ app: String) throws(ClientError) -> AppHost {
    guard let host = hosts[app] else { throw .notAvailable.saying("the app \(app) is switched off on this broker") }
    return host
  }

  private func begin(_ look: UserLook, in turn: inout Turn) throws(ClientError) {
    guard looks.count < UserLooks.most else {
      throw .tooManyRequests.saying(
        "\(UserLooks.most) users are being looked at, as many as may; ask again in a moment")
    }
    start(look, in: &turn)
  }

  /// Lets the look go on whose turn it is.
  func goOnLooking(in turn: inout Turn) {
    if let look = looks.next() { run(.lookAtUser(look), in: &turn) }
  }

  /// Does a step of a look. What comes after it is done in a later turn, as an input of its own that keeps no answers
  /// of the stores: so what is kept of a million channels holds up nobody's messages.
  func goOn(_ look: UserLook, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    do throws(ClientError) {
      if try step(look, in: &turn) { return looks.add(look) }
      if let copy = look.picture { return read(copy, for: look, in: &turn) }
      end(look)
      answer(look.requester, .result(json(of: look)), in: &turn)
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .lookAtUser(look), in: &turn) }
      end(look)
      answer(look.requester, .failed(error), in: &turn)
    }
  }

  /// - Returns: whether there is more to do.
  private func step(_ look: UserLook, in turn: inout Turn) throws(ClientError) -> Bool {
    if !look.isSettled {
      _ = try stores.ask(.erasure(.settle), of: stores.disk, in: &turn)
      look.isSettled = true
      return true
    }
    if !look.rows.isEmpty {
      for _ in 0..<UserLook.rowsPerTurn {
        guard let row = look.rows.last else { break }
        if try note(row, look, in: &turn) {
          look.rows = []
          break
        }
        look.rows.removeLast()
      }
      return true
    }
    if look.isPageRead { return false }
    switch look.position {
    case .disk(let position):
      let next = try trace(look, position, of: stores.disk, in: &turn)
      look.position = next.map { .disk($0) } ?? .memory(.start)
    case .memory(let position):
      let next = try trace(look, position, of: stores.memory, in: &turn)
      look.position = next.map { .memory($0) } ?? .lists(0, after: "")
    case .picture(let place, let start): return try begin(look, at: place, from: start, in: &turn)
    case .lists(let index, let key): try list(look, index, after: key, in: &turn)
    case .over: return look.kind == .counts && walk(look)
    }
    // An export is as long as one page of what was traced.
    if look.kind == .export, !look.rows.isEmpty || !look.exported.isEmpty { look.isPageRead = true }
    return true
  }

  private func trace(
    _ look: UserLook, _ position: TracePosition, of store: any LogStore, in turn: inout Turn
  ) throws(ClientError) -> TracePosition? {
    let question = ErasureQuestion.trace(users: [look.user], contents: namedContents, after: position)
    guard case .erasure(.page(let page)) = try stores.ask(.erasure(question), of: store, in: &turn) else { return nil }
    look.rows = page.rows.reversed()
    return page.next
  }

  /// Counts a row, or puts it into an export, if it is about the user.
  ///
  /// - Returns: whether the look leaves the page here, for a picture.
  private func note(_ row: TracedRow, _ look: UserLook, in turn: inout Turn) throws(ClientError) -> Bool {
    if row.kind == .channel {
      look.count(row, as: "channels")
      return false
    }
    let name = row.channel.namespace.map(String.init) ?? ""
    if let host = hosts.all.first(where: { $0.recordsState.name == row.channel }) {
      return try note(record: row, of: host, look, in: &turn)
    }
    if Outbox.isOne(row.channel) {
      if look.sought.areNamed(byEvent: row.publication) { look.count(row, as: "webhook_events") }
      return false
    }
    if NoticeOutbox.isOne(row.channel) {
      if look.sought.areNamed(byNotice: row.publication) { look.count(row, as: "push.notices_waiting") }
      return false
    }
    guard look.sought.areNamed(by: row.publication), row.publication.tags["deleted"] == nil else { return false }
    look.count(row, as: "\(row.kind == .entry ? "entries" : "publications") \(name)")
    if look.kind == .export, isOwn(row, look.sought), let row = opened(row, at: turn.time) { look.export(row) }
    return false
  }

  /// A row as its user reads it; nil: what it said is gone since.
  private func opened(_ row: TracedRow, at time: BrokerTime) -> TracedRow? {
    guard row.publication.vanishes != nil, let options = configuration.namespaces.options(for: row.channel),
      let publication = opened([row.publication], on: row.channel, options, at: time).first
    else { return row }
    if ["deleted", "deletes"].contains(where: { publication.tags[$0] != nil }) { return nil }
    var opened = row
    opened.publication = publication
    return opened
  }

  /// Whether a row is the user's to have: what the user published, or has set under the own id. In an app's lists a key says
  /// whom an entry of somebody else's is about, and that somebody blocks the user must not come out so; the user's own
  /// lists are read apart.
  private func isOwn(_ row: TracedRow, _ user: SoughtUsers) -> Bool {
    if user.published(row.publication) { return true }
    guard let key = row.publication.change?.key, !AppChannels.contains(row.channel.string) else { return false }
    return user.contains(key)
  }

  /// Counts a record of an app. An export gives out none, but the picture of one: a part on a page of its own.
  private func note(
    record row: TracedRow, of host: AppHost, _ look: UserLook, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    guard row.kind == .entry, let key = row.publication.change?.key, !AppHost.isBrokers(key) else { return false }
    if look.kind == .export {
      guard let place = row.place, try picture(in: key, for: look.user, in: &turn) != nil else { return false }
      look.position = .picture(place, from: 0)
      look.isPageRead = !look.exported.isEmpty
      return true
    }
    let names = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try host.app.forget(look.sought, in: key, lens) != nil
    }
    let kind = key.prefix { $0 != "/" && $0 != ":" }
    if names { look.count(row, as: "\(kind.hasPrefix("\(host.app.name).") ? "" : "\(host.app.name).")\(kind)") }
    return false
  }

  /// Reads a page of one of the lists that apps keep for the user: what the user sees of others, and no more.
  private func list(_ look: UserLook, _ index: Int, after key: String, in turn: inout Turn) throws(ClientError) {
    let lists = hosts.all.flatMap { $0.app.channels(of: look.user) }
    guard index < lists.count else {
      look.position = .over
      return
    }
    look.position = .lists(index + 1, after: "")
    guard let map = try existing(lists[index], in: &turn)?.map else { return }
    let page = map.page(after: key, limit: 256, bytes: 1 << 20, isDescending: false)
    for entry in page.entries {
      let row = TracedRow(.entry, lists[index], entry)
      look.count(row, as: "entries \(lists[index].namespace.map(String.init) ?? "")")
      if look.kind == .export { look.export(row) }
    }
    if !page.cursor.isEmpty { look.position = .lists(index, after: page.cursor) }
  }

  /// Counts the channels on which the user is present, some at a time.
  ///
  /// - Returns: whether there are more.
  private func walk(_ look: UserLook) -> Bool {
    var walk = look.walk ?? channels.beginWalk()
    defer { look.walk = walk }
    return channels.goOn(&walk) { state in
      if state.members.holds(look.user) { look.present.insert(state.name) }
      return 0
    }
  }

  // MARK: Answers

  func json(of look: UserLook) -> [UInt8] {
    var writer = JSONWriter(capacity: 256 + look.exportedBytes + (look.picture?.cost ?? 0))
    writer.object { writer in
      if look.kind == .counts { return writeAmounts(of: look, &writer) }
      writer.list("items") { writer in
        for row in look.exported {
          let isBinary = configuration.namespaces.options(for: row.channel)?.dataFormat == .binary
          writer.object { writer in
            writer.write("channel", row.channel.string)
            writer.write(row.publication.withoutAudienceTags, binary: isBinary)
          }
        }
        if let copy = look.picture { writer.object { copy.write(to: &$0) } }
      }
      let cursor = look.page ?? look.position.text
      if !cursor.isEmpty { writer.write("cursor", cursor) }
    }
    return writer.bytes
  }

  private func writeAmounts(of look: UserLook, _ writer: inout JSONWriter) {
    writer.list("kept") { writer in
      for (name, amount) in look.amounts.sorted(by: { $0.key < $1.key }) {
        let words = name.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        writer.object { writer in
          writer.write("kind", String(words[0]))
          if words.count > 1 { writer.write("namespace", String(words[1])) }
          writer.write("count", amount.count)
          writer.write("bytes", amount.bytes)
        }
      }
    }
    writer.write("present", look.present.count)
    writer.write("revocations", revocations?.table.count(of: look.user) ?? 0)
  }
}
