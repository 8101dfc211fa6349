import Wire

/// One person's reaction to one message: always exactly one of these states, changed by ``after(_:_:at:keptFrom:)``
/// alone.
///
///     state           react              take back   the message goes   the person leaves the group
///     none            shown              =           =                  =
///     shown           shown              none        none               none
///
/// For each other reader it is one of:
/// - *as it is now*.
/// - *kept*: as it was, a reaction or none, when the person first changed it while a block lay between the two. It stays
///   so after the block, until the person changes the reaction with no block between them. What is taken back is gone
///   for everybody, as a removed message is.
struct CliqueReaction: Codable, Sendable, Equatable {
  /// Of the message.
  var offset: UInt64
  var text: String
  /// When it was made, in milliseconds since 1970.
  var time: Int64
  /// When the message is too old to be kept.
  var ends: Int64
  /// The tags by which the message's readers are chosen (``Publication/audienceTags``): whoever does not get the message
  /// must not learn by a reaction that it is there. Nil: there are none.
  var audience: [String: String]?
  /// The readers for whom it is kept as it was; nil: nobody.
  var kept: [Kept]?

  struct Kept: Codable, Sendable, Equatable {
    var user: String
    /// Nil: there was no reaction.
    var text: String?
    var time: Int64?
  }

  /// The reaction after the person has reacted.
  ///
  /// - Parameters:
  ///   - old: what was there; nil: none.
  ///   - message: as it stands in the history.
  ///   - others: between whom and the person a block lies, whoever laid it.
  static func after(
    _ old: CliqueReaction?, _ text: String, to message: Publication, at now: Int64, keptFrom others: [String]
  ) -> CliqueReaction {
    let audience = message.tags.filter { Publication.audienceTags.contains($0.key) }
    let hidden = audience[Clique.Tag.hidden] ?? ""
    // Who does not get the message sees no reaction to it, whatever there was.
    let kept = others.filter { !hidden.contains(Clique.Tag.bars($0)) }.map { user in
      old?.kept?.first { $0.user.hasSameBytes(as: user) } ?? Kept(user: user, text: old?.text, time: old?.time)
    }
    var new = CliqueReaction(
      offset: message.offset, text: text, time: now, ends: message.time.saturatingAdd(Clique.chatLifetime),
      audience: audience.isEmpty ? nil : audience, kept: kept.isEmpty ? nil : kept)
    // The same again keeps its time, whether or not it now reaches somebody more: its author would learn by the time
    // that a block has ended.
    if let old, old.text.hasSameBytes(as: text) { new.time = old.time }
    return new
  }

  /// The entry of the reaction in its channel.
  ///
  /// - Parameter user: whose reaction it is.
  func entry(of user: String, inGroup isGroup: Bool) -> AppEntry {
    var tags = audience ?? [:]
    var former = FormerVersions()
    for kept in kept ?? [] {
      if isGroup { tags[Clique.Tag.hidden] = (tags[Clique.Tag.hidden] ?? "") + Clique.Tag.bars(kept.user) }
      if let text = kept.text {
        former.keep(Self.json(text, kept.time ?? 0), for: kept.user)
      } else if !isGroup {
        tags[Clique.Tag.only] = user
      }
    }
    // By this tag the filters of groups tell what was published from who is there.
    if isGroup, tags[Clique.Tag.hidden] == nil { tags[Clique.Tag.hidden] = "" }
    tags[FormerVersions.tag] = former.text
    return AppEntry(
      data: Self.json(text, time), score: Int64(clamping: offset), tags: tags, info: ClientInfo(user: user, client: ""))
  }

  private static func json(_ text: String, _ time: Int64) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("reaction", text)
      writer.write("time", time)
    }
    return writer.bytes
  }
}
