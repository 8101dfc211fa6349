import Apps
import Log
import Wire

/// Replacing and removing publications.
///
/// The kept publication is changed where it stands, so that history and recovery show it as it is now. That it was
/// changed is itself a publication, with an offset of its own: so live subscribers hear of it in order, and those who
/// were away recover it, wherever they were. It carries the tag `edits` or `deletes` with the offset of the one that
/// changed; that one carries `edited` or `deleted` with the time.
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
    // Apps let authors change what they wrote where their namespaces say so; services have no business there.
    if request.editor == nil, let app = options.app { throw Self.refusal(of: request.channel, app) }
    guard options.kind == .stream, options.keepsHistory else {
      throw .notAvailable.saying("\"\(request.channel)\" keeps no history, so there is nothing to change")
    }
    if let editor = request.editor { _ = try admit(editor.user, to: request.channel, options, in: &turn) }
    guard let state = try existing(request.channel, options, in: &turn).state else {
      throw .notFound(request.offset)
    }
    let kept = try self.kept(by: request.editor, on: state, for: requester, in: &turn)
    let original = try changeable(request.offset, in: state, in: &turn)
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
      // As without an app: the offset of what says so.
      decision.answer = .reply(Array("{\"offset\":\((state.sequencer.peek() ?? 0))}".utf8))
      return try perform(decision, of: host, for: requester, in: &turn)
    }
    let plan = EditPlan(original: original, data: request.data, editor: request.editor, at: turn.time.wall)
    guard let offset = state.sequencer.peek() else { throw .draining }
    var notice = plan.notice
    notice.offset = offset
    try append(notice, nil, edit: plan.edit, over: original, of: state, for: requester, kept: kept, in: &turn)
  }

  /// The publication as it will be once every change under way is on disk.
  ///
  /// - Throws: where there is none, or one that says itself that another was changed.
  private func changeable(
    _ offset: UInt64, in state: ChannelState, in turn: inout Turn
  ) throws(ClientError) -> Publication {
    let top = state.sequencer.top.offset
    guard offset > 0, offset <= top else { throw .notFound(offset) }
    let range = LogRange(since: offset - 1, through: offset, limit: 1, notBefore: oldest(in: state, at: turn.time))
    guard let stored = try read(range, of: state, in: &turn).publications.first, stored.offset == offset else {
      throw .notFound(offset)
    }
    let original = state.editsUnderWay[offset]?.replacement ?? stored
    guard original.tags["edits"] == nil, original.tags["deletes"] == nil else { throw .notChangeable(offset) }
    return original
  }

  /// The same for an app, which changes only what is there.
  func kept(_ offset: UInt64, in state: ChannelState, in turn: inout Turn) throws(ClientError) -> Publication {
    let original = try changeable(offset, in: state, in: &turn)
    if original.tags["deleted"] != nil { throw .notChangeable(offset) }
    return original
  }

  // MARK: Under way

  /// The log took an entry and has not answered for it: what it changes is reckoned with by those who come after it.
  func noteUnderWay(_ entry: LogEntry, on state: ChannelState) {
    state.map?.taken(entry.publication, ticket: entry.ticket)
    guard let replacement = entry.edit?.replacement else { return }
    state.editsUnderWay[replacement.offset] = EditUnderWay(ticket: entry.ticket, replacement: replacement)
  }

  /// Whatever became of the change: the log holds what is true now.
  func editCameBack(_ notice: Publication, _ ticket: UInt64, on state: ChannelState) {
    guard let offset = (notice.tags["edits"] ?? notice.tags["deletes"]).flatMap({ UInt64($0) }) else { return }
    if state.editsUnderWay[offset]?.ticket == ticket { state.editsUnderWay[offset] = nil }
  }
}

/// What becomes of a publication that is changed, and what says so.
struct EditPlan {
  let edit: LogEdit
  /// Without an offset.
  let notice: Publication

  /// - Parameters:
  ///   - data: nil removes, for everybody.
  ///   - concealment: whom an app keeps the change from.
  init(
    original: Publication, data: [UInt8]?, editor: ClientInfo?, at wall: Int64, from concealment: AppConcealment? = nil
  ) {
    var replacement = original
    replacement.data = data ?? BrokerCore.noData
    replacement.tags[data == nil ? "deleted" : "edited"] = String(wall)
    var former = FormerVersions(original.tags[FormerVersions.tag])
    former.keep(original, for: data == nil ? [] : concealment?.users ?? [])
    replacement.tags[FormerVersions.tag] = former.text
    edit = LogEdit(replacement: replacement)
    var tags = [data == nil ? "deletes" : "edits": String(original.offset)]
    // Whoever may not see the one must not hear of the other.
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
