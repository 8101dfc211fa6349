import Wire

@testable import Apps

/// What must hold of pictures of Clique by what is on the disk.
extension AppWorld {
  private var records: ChannelName { AppOracle.name("clique.records:all") }

  private func record(_ id: String) -> Clique.Picture? {
    AppOracle.record(Clique.Picture.self, Clique.Key.picture(id), ledger, of: "clique")
  }

  /// The pictures that stand, by id.
  private var standing: [Clique.Picture] {
    records(Clique.Picture.self, under: Clique.Key.picture("")).filter { !$0.isBarred }
  }

  // MARK: On the disk, whatever is under way

  /// Checks that pictures, what is counted of them, and what shows them fit together. They do after each transaction.
  func judgePictureRecords() {
    guard hasPictures else { return }
    let standing = standing
    for user in Self.people {
      let key = Clique.Key.pictures(of: user)
      let counted =
        AppOracle.record(Clique.Pictures.self, key, ledger, of: "clique") ?? Clique.Pictures(user: user)
      let own = standing.filter { $0.owner == user }
      let bytes = own.reduce(0) { $0 + $1.bytes }
      if counted.bytes != bytes { fail("\(user) keeps \(bytes) bytes of pictures, and \(counted.bytes) are counted") }
      let unsent = own.filter { $0.use == .unsent }.map(\.id)
      if counted.unsent.sorted() != unsent.sorted() {
        fail("\(user) has not sent \(unsent.sorted()), and \(counted.unsent.sorted()) are counted")
      }
    }
    for picture in standing { judgeUse(picture) }
    judgeReports()
    for (name, channel) in ledger.channels where name.namespace == "clique.chat" {
      for publication in channel.kept { judgePicture(of: publication, on: name) }
    }
  }

  /// Checks that reports and the pictures that they keep fit together.
  private func judgeReports() {
    var named: [String: [UInt64]] = [:]
    for report in records(Clique.Report.self, under: "report/") {
      for picture in report.pictures ?? [] { named[picture.id, default: []].append(report.number) }
    }
    var bytes: Int64 = 0
    let kept = records(Clique.KeptPictures.self, under: Clique.KeptPictures.key(""))
    for picture in kept {
      let reports = picture.uploads.flatMap(\.reports)
      if reports.sorted() != named[picture.id]?.sorted() {
        fail("\(picture.id) is kept for \(reports.sorted()), and \(named[picture.id] ?? []) name it")
      }
      if picture.uploads.map(\.key.bytes) != album[picture.id].map({ [$0.key] }) {
        fail("\(picture.id) has another key")
      }
      bytes += picture.uploads.reduce(0) { $0 + $1.bytes }
    }
    if named.count != kept.count { fail("\(named.count) pictures are named in reports, and \(kept.count) kept") }
    let counted = AppOracle.record(Clique.Reports.self, Clique.Reports.key, ledger, of: "clique")?.keptBytes ?? 0
    if counted != bytes { fail("\(bytes) bytes of pictures are kept with reports, and \(counted) are counted") }
  }

  private func records<Record: AppRecord>(_ type: Record.Type, under prefix: String) -> [Record] {
    let keys = (ledger.channels[records]?.entries ?? [:]).keys.filter { $0.hasPrefix(prefix) }.sorted()
    return keys.compactMap { key in
      let record = AppOracle.record(type, key, ledger, of: "clique")
      if record == nil { fail("\(key) cannot be read") }
      return record
    }
  }

  /// Checks that a picture is used by what it says.
  private func judgeUse(_ picture: Clique.Picture) {
    switch picture.use {
    case .unsent: break
    case .lent: fail("\(picture.id) is lent, and there is no other partition")
    case .message(let conversation, let offset):
      // What is over goes by a decision of its own, and its picture by another.
      if picture.ends ?? .max <= wall { return }
      let message = message(offset, of: conversation)
      if message.flatMap(Clique.picture) != picture.id { fail("\(picture.id) outlives its message") }
    case .profile:
      let profile = AppOracle.record(
        Clique.Profile.self, Clique.Key.profile(of: picture.owner), ledger, of: "clique")
      if profile?.shownPictures.contains(picture.id) != true { fail("\(picture.id) is in no profile any more") }
    }
  }

  private func judgePicture(of publication: Publication, on channel: ChannelName) {
    // What tells of a change says again which picture the message has.
    if publication.tags["edits"] != nil || publication.vanishes ?? .max <= wall { return }
    let opened = clique.opened(publication, on: channel, at: wall)
    guard let id = Clique.picture(in: opened) else { return }
    if record(id)?.use != .message(conversation: String(channel.rest), offset: publication.offset) {
      fail("\(channel) \(publication.offset) stands, and its picture \(id) is gone")
    }
  }

  private func message(_ offset: UInt64, of conversation: String) -> Publication? {
    let channel = AppOracle.name("clique.chat:" + conversation)
    let kept = ledger.channels[channel]?.kept.first { $0.offset == offset }
    return kept.map { clique.opened($0, on: channel, at: wall) }
  }

  // MARK: When nothing is under way

  /// Checks what people know of their pictures, who gets them, and their files.
  func judgePictures() {
    guard hasPictures else { return }
    judgePictureRecords()
    let standing = standing
    for picture in album.pictures {
      let stands = standing.contains { $0.id == picture.id }
      if picture.goneSince != nil, stands { fail("\(picture.id) was acknowledged as gone, and stands") }
      if album.isKept(picture), !stands { fail("\(picture.id) should stand, and is gone") }
    }
    for picture in standing where picture.use != .unsent {
      if !folders.contains(where: { $0.files.contains(picture.id) }) { fail("\(picture.id) has no file") }
    }
    guard violations.isEmpty else { return }
    for picture in album.pictures {
      for user in Self.people {
        guard let phone = phones.first(where: { $0.user == user }) else { continue }
        fetch(picture, phone, expected: isSeen(picture.id, by: user))
      }
      runUntilQuiet()
    }
  }

  /// Checks, when all that ends by time has ended, that gateways have no file that nobody can see.
  func judgeFiles() {
    guard hasPictures else { return }
    for gateway in gateways.indices { linkOpened(gateway) }
    runUntilQuiet()
    judgePictures()
    let standing = Set(standing.map(\.id))
    for (gateway, folder) in folders.enumerated() {
      let left = folder.files.subtracting(standing)
      if !left.isEmpty { fail("gateway \(gateway) keeps \(left.sorted()), which nobody can see") }
    }
    judgeKeptFiles(standing)
  }

  /// Checks that moderators find every picture that a report keeps, and gateways no other that is gone.
  private func judgeKeptFiles(_ standing: Set<String>) {
    let kept = Set(records(Clique.KeptPictures.self, under: Clique.KeptPictures.key("")).map(\.id))
    for picture in album.pictures where picture.isReported && !kept.contains(picture.id) {
      fail("\(picture.id) was reported while it stood, and is not kept")
    }
    for id in kept.subtracting(standing) {
      coverage.pictures.keptAlone += 1
      if !folders.contains(where: { $0.kept.contains(id) }) { fail("\(id) is kept with a report, and has no file") }
    }
    for (gateway, folder) in folders.enumerated() {
      let left = folder.kept.subtracting(kept.subtracting(standing))
      if !left.isEmpty { fail("gateway \(gateway) keeps \(left.sorted()) for moderators, which no report keeps") }
    }
  }

  /// Whether a user sees a picture now; nil: the disk does not tell, or the answer is about to change.
  private func isSeen(_ id: String, by user: String) -> Bool? {
    guard let picture = record(id), !picture.isBarred, picture.isWhole else { return false }
    let isOwn = picture.owner == user
    switch picture.use {
    case .unsent, .lent:
      if !isOwn { return false }
      return picture.due ?? .min > wall + 1000 ? true : nil
    case .message(let conversation, let offset):
      if picture.ends ?? .max <= wall + 1000 { return nil }
      return isOwn ? true : reads(user, offset, of: conversation)
    case .profile: return isOwn ? true : sees(user, id, ofProfileOf: picture.owner)
    }
  }

  /// - Returns: nil where a request is over and the record does not say so yet.
  private func reads(_ user: String, _ offset: UInt64, of conversation: String) -> Bool? {
    guard let pair = AppOracle.record(Clique.Pair.self, "pair/" + conversation, ledger, of: "clique"),
      let side = pair.side(of: user), let message = message(offset, of: conversation)
    else { return false }
    guard pair.advanced(to: wall) == pair else { return nil }
    return pair.state.sight(of: side).mayRead && message.tags[Clique.Tag.only].map { $0 == user } ?? true
  }

  /// - Returns: nil where two people stand to each other so that more than the state of their conversation decides.
  private func sees(_ user: String, _ id: String, ofProfileOf owner: String) -> Bool? {
    let blank = Clique.Pair(user, owner)
    let stored = AppOracle.record(Clique.Pair.self, "pair/" + blank.id, ledger, of: "clique") ?? blank
    let pair = stored.advanced(to: wall)
    guard let side = pair.side(of: user),
      let profile = AppOracle.record(Clique.Profile.self, Clique.Key.profile(of: owner), ledger, of: "clique")
    else { return nil }
    switch pair.state.sight(of: side) {
    case .blocked: return false
    case .active, .ended, .asked:
      return pair.version(of: side.other, live: profile.content).picture?.ids.contains(id) ?? false
    case .asking, .nothing: return nil
    }
  }
}
