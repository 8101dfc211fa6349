import Apps
import Log
import Wire

/// Replacing and removing publications.
///
/// The publication in the history is replaced in place, so that history and recovery show it as it is now. A second
/// publication, the notice, says that it was changed, with an offset of its own: so live subscribers hear of the change
/// in order, and subscribers who were away recover it. The notice carries the tag `edits` or `deletes` with the offset
/// of the changed publication; the changed publication carries `edited` or `deleted` with the time.
extension BrokerCore {
  /// Tags that only the broker writes.
  static let reservedTags: Set<String> = [
    "edits", "deletes", "edited", "deleted", "user", "key", "removed", "only", "hidden", FormerVersions.tag,
  ]

  func edit(
    _ request: BrokerRequest.EditRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard request.data?.count ?? 0 <= configuration.maximumPayloadBytes else {
      throw .limitExceeded.saying("the data has more than \(configuration.maximumPayloadBytes) bytes; send less")
    }
    let options = try options(of: request.channel)
    // In a channel of an app, authors may change what they wrote, as the app's rules say; services may change nothing.
    if request.editor == nil, let app = options.app { throw Self.refusal(of: request.channel, app) }
    guard options.kind == .stream, options.keepsHistory else {
      throw .notAvailable.saying("\"\(request.channel)\" keeps no history, so there is nothing to change")
    }
    let audience = try request.editor.flatMap { (editor) throws(ClientError) in
      try admit(editor.user, to: request.channel, options, in: &turn)
    }
    guard let state = try existing(request.channel, options, in: &turn).state else {
      throw .notFound(request.offset)
    }
    let kept = try self.kept(by: request.editor, on: state, for: requester, in: &turn)
    let digest = request.idempotencyKey == nil ? 0 : Self.digest(of: request)
    if let key = request.idempotencyKey, try isUsed(key, for: digest, of: request, in: state, requester, &turn) {
      return
    }
    let original = try changeable(request.offset, in: state, by: request.editor, audience, in: &turn)
    if let editor = request.editor {
      guard let author = original.info?.user, !author.isEmpty, author.hasSameBytes(as: editor.user) else {
        throw .permissionDenied.saying("only its author may change a publication")
      }
    }
    if original.tags["deleted"] != nil {
      let ticket = state.editsUnderWay[request.offset]?.ticket
      return answer(requester, .failed(.notChangeable(request.offset)), after: ticket, in: &turn)
    }
    if let editor = request.editor, let host = hosts.host(of: state) {
      let edit = AppEdit(channel: state.name, original: original, data: request.data, editor: editor)
      var decision: AppDecision
      do throws(ClientError) {
        decision = try consult(host, in: &turn) { (lens) throws(ClientError) in try host.app.edit(edit, lens) }
      } catch {
        if turn.missing.isEmpty { tally.noteLimit(of: error, by: editor.user) }
        throw error
      }
      // The same answer as without an app: the offset of the notice.
      decision.answer = .reply(Array("{\"offset\":\((state.sequencer.peek() ?? 0))}".utf8))
      return try carryOut(decision, of: host, for: requester, in: &turn)
    }
    let plan = EditPlan(original: original, data: request.data, editor: request.editor, at: turn.time.wall)
    guard let offset = state.sequencer.peek() else { throw .draining }
    var notice = plan.notice
    notice.offset = offset
    let record = request.idempotencyKey.map {
      IdempotencyRecord(
        key: $0, offset: offset, digest: digest, expires: turn.time.wall + configuration.idempotencyWindow)
    }
    try append(notice, record, edit: plan.edit, over: original, of: state, for: requester, kept: kept, in: &turn)
  }

  /// Answers an edit whose key was used before.
  ///
  /// - Returns: false where the key is new.
  private func isUsed(
    _ key: String, for digest: UInt64, of request: BrokerRequest.EditRequest, in state: BrokerChannel,
    _ requester: Requester, _ turn: inout Turn
  ) throws(ClientError) -> Bool {
    let held = state.idempotency[IdentifierKey(key)]
    switch decideIdempotency(held?.record, digest: digest, now: turn.time.wall) {
    case .publish:
      try channels.checkKeys(request.editor?.user, in: state)
      return false
    case .conflict: answer(requester, .failed(.idempotencyConflict), after: held?.ticket, in: &turn)
    case .alreadyPublished(let offset):
      tally.counters.duplicatesAvoided += 1
      let response = BrokerResponse.published(StreamPosition(epoch: state.sequencer.top.epoch, offset: offset))
      answer(requester, response, after: held?.ticket, in: &turn)
    }
    return true
  }

  /// Tells an edit from another of the same channel, and from a publication, by which its key may have been used.
  private static func digest(of request: BrokerRequest.EditRequest) -> UInt64 {
    let action = request.data == nil ? "delete" : "edit"
    return Broker.digest(of: Array("\(action) \(request.offset) ".utf8) + (request.data ?? []))
  }

  /// The publication with the offset, as it will be once every change under way is on disk.
  ///
  /// - Parameters:
  ///   - editor: who wants to change it. What they may not see is answered like an offset at which nothing stands.
  ///   - audience: what the editor may see of the channel; nil: all.
  /// - Throws: where the channel keeps no such publication, or it is itself the notice of a change.
  private func changeable(
    _ offset: UInt64, in state: BrokerChannel, by editor: ClientInfo? = nil, _ audience: TagFilter? = nil,
    in turn: inout Turn
  ) throws(ClientError) -> Publication {
    let original = try standing(offset, in: state, in: &turn)
    if let editor, let audience, !audience.matches(original.shown(to: editor.user)) { throw .notFound(offset) }
    guard original.tags["edits"] == nil, original.tags["deletes"] == nil else { throw .notChangeable(offset) }
    return original
  }

  /// The publication that an app changes or removes, as it will be once every change under way is on disk.
  ///
  /// - Throws: as ``changeable(_:in:in:)``, and where the publication was removed. One whose time is over
  ///   (``Publication/vanishes``) is removed whatever it is.
  func kept(
    _ offset: UInt64, removing: Bool, in state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> Publication {
    let original = try standing(offset, in: state, in: &turn)
    if removing, original.vanishes != nil { return original }
    if ["edits", "deletes", "deleted"].contains(where: { original.tags[$0] != nil }) { throw .notChangeable(offset) }
    return original
  }

  private func standing(
    _ offset: UInt64, in state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> Publication {
    let top = state.sequencer.top.offset
    guard offset > 0, offset <= top else { throw .notFound(offset) }
    let range = LogRange(since: offset - 1, through: offset, limit: 1, notBefore: oldest(in: state, at: turn.time))
    guard let stored = try read(range, of: state, in: &turn).publications.first, stored.offset == offset else {
      throw .notFound(offset)
    }
    return state.editsUnderWay[offset]?.replacement ?? stored
  }

  // MARK: Under way

  /// Notes what an entry changes that the log took and has not answered for: later requests reckon with the change.
  func noteUnderWay(_ entry: LogEntry, on state: BrokerChannel) {
    state.map?.pending(entry.publication, ticket: entry.ticket)
    guard let replacement = entry.edit?.replacement else { return }
    state.editsUnderWay[replacement.offset] = EditUnderWay(ticket: entry.ticket, replacement: replacement)
  }

  /// Forgets an edit for which the log has answered. Kept or failed, from here on what the log holds is true.
  func editCameBack(_ notice: Publication, _ ticket: UInt64, on state: BrokerChannel) {
    guard let offset = (notice.tags["edits"] ?? notice.tags["deletes"]).flatMap({ UInt64($0) }) else { return }
    if state.editsUnderWay[offset]?.ticket == ticket { state.editsUnderWay[offset] = nil }
  }
}

/// An edit worked out: the publication's replacement, and the notice that tells subscribers of it.
struct EditPlan {
  let edit: LogEdit
  /// Tells subscribers what was changed. Its offset is still to be set.
  let notice: Publication

  /// - Parameters:
  ///   - data: the new payload; nil: the publication is removed, for everybody.
  ///   - concealment: the users whom an app keeps the change from.
  ///   - isApps: the publication is an app's.
  init(
    original: Publication, data: [UInt8]?, editor: ClientInfo?, at wall: Int64, from concealment: AppConcealment? = nil,
    isApps: Bool = false
  ) {
    var replacement = original
    replacement.data = data ?? BrokerCore.noData
    replacement.tags[data == nil ? "deleted" : "edited"] = String(wall)
    var former = FormerVersions(original.tags[FormerVersions.tag])
    former.keep(original, for: data == nil ? [] : concealment?.users ?? [])
    replacement.tags[FormerVersions.tag] = former.text
    var tags = [data == nil ? "deletes" : "edits": String(original.offset)]
    if isApps {
      // What tells of a change holds the new text, and goes with what it changes.
      if data == nil { replacement.tags[Publication.vanishesTag] = nil }
      if data != nil { tags[Publication.vanishesTag] = original.tags[Publication.vanishesTag] }
      // What told of a change, and is removed, tells from now on that the message was.
      if data == nil, let target = original.tags["edits"] ?? original.tags["deletes"] {
        replacement.tags["edits"] = nil
        replacement.tags["deletes"] = target
        replacement.tags["deleted"] = nil
      }
    }
    edit = LogEdit(replacement: replacement)
    // Whoever may not see the publication must not get the notice that it was changed.
    for tag in Publication.audienceTags { tags[tag] = original.tags[tag] }
    if let concealment { tags.merge(concealment.tags) { $1 } }
    notice = Publication(time: wall, data: data ?? BrokerCore.noData, info: editor ?? original.info, tags: tags)
  }
}

extension ClientError {
  static let draining = ClientError.internalError.saying(
    "the channel's last publications could not be stored; try again in a moment")

  fileprivate static func notChangeable(_ offset: UInt64) -> ClientError {
    .badRequest.saying("what has offset \(offset) is not there to be changed; it was removed, or is a change")
  }

  fileprivate static func notFound(_ offset: UInt64) -> ClientError {
    .badRequest.saying("the channel keeps no publication with offset \(offset)")
  }
}
