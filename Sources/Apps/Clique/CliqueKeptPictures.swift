import Wire

/// Pictures that are kept with reports.
///
/// A report keeps a picture beside its own record: ``Clique/Picture`` goes on as if there were no report, so that nothing that
/// its owner can ask or do tells of one. The states of one upload of a picture, as far as reports are concerned:
///
///     state           a report names it  the picture goes       the last report on it ends
///     not kept        kept, stands       not kept               -
///     kept, stands    kept, stands       kept alone             not kept
///     kept alone      -                  -                      not kept: its file goes
///
/// *Kept, stands*: the file has the picture's id for a name. *Kept alone*: gateways have given the file another
/// (``PictureFate``), and the id is free as after any removal. Whether it stands is not written down: a fate is the same
/// for both.
extension Clique {
  /// The uploads of one picture id that reports keep.
  struct KeptPictures: AppRecord {
    struct Upload: Codable, Sendable, Equatable {
      var upload: Bytes64
      /// What its file is encrypted under.
      var key: Bytes64
      var owner: String
      var type: String
      var bytes: Int64
      /// The numbers of the reports that keep it.
      var reports: [UInt64]
    }

    var id: String
    var uploads: [Upload] = []

    var due: Int64? { nil }

    static func key(_ id: String) -> String { "kept/" + id }
  }

  public func reportedPicture(
    _ request: ReportRequest.Picture, _ view: any AppView
  ) throws(ClientError) -> AppPicture {
    let report = try report(request.number, view)
    guard let named = report.pictures?.first(where: { $0.id == request.id }),
      let kept = try view.record(KeptPictures.self, KeptPictures.key(named.id)),
      let upload = kept.uploads.first(where: { $0.upload == named.upload })
    else {
      throw ClientError.notAvailable.saying(
        "report \(request.number) keeps no such picture; take an id from the pictures that clique_report shows")
    }
    return AppPicture(
      id: named.id, type: upload.type, bytes: upload.bytes, owner: upload.owner, with: nil, key: upload.key.bytes,
      upload: upload.upload.bytes)
  }

  /// A user's pictures that reports keep go with the user's data, also where the reports about the user are yet to go.
  func forgetKept(_ users: SoughtUsers, _ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var kept = try draft.read(KeptPictures.self, key) else { return }
    let theirs = kept.uploads.filter { users.contains($0.owner) }
    if theirs.isEmpty { return }
    kept.uploads.removeAll { upload in theirs.contains(upload) }
    var reports = try draft.read(Reports.self, Reports.key) ?? Reports()
    reports.keptBytes = theirs.reduce(reports.keptBytes ?? 0) { max(0, $0 - $1.bytes) }
    draft.write(Reports.key, reports)
    draft.write(kept, released: theirs)
  }
}

extension CliqueDraft {
  /// Keeps a picture of whoever is reported with a report. One that is lent is in the message, too: the conversation's
  /// partition has said so, and this one is yet to hear that it is used.
  ///
  /// - Parameter offset: of the message that it is in; nil: it is in the profile.
  /// - Returns: nil where it is gone, or there is no room to keep it.
  func keep(
    _ id: String, of owner: String, at offset: UInt64?, for report: UInt64, _ reports: inout Clique.Reports,
    most: Int64
  ) throws(ClientError) -> Clique.Report.Picture? {
    guard StatePictureID.isValid(id), let picture = try read(Clique.Picture.self, Clique.Key.picture(id)),
      picture.isWhole, picture.use != .unsent, picture.owner.hasSameBytes(as: owner), let key = picture.key,
      let upload = picture.upload
    else { return nil }
    var kept = try read(Clique.KeptPictures.self, Clique.KeptPictures.key(id)) ?? Clique.KeptPictures(id: id)
    if let index = kept.uploads.firstIndex(where: { $0.upload == upload }) {
      if !kept.uploads[index].reports.contains(report) { kept.uploads[index].reports.append(report) }
    } else {
      let bytes = reports.keptBytes ?? 0
      guard picture.bytes <= most, bytes <= most - picture.bytes else { return nil }
      reports.keptBytes = bytes + picture.bytes
      kept.uploads.append(
        .init(
          upload: upload, key: key, owner: picture.owner, type: picture.type, bytes: picture.bytes, reports: [report]))
    }
    write(Clique.KeptPictures.key(id), kept)
    return Clique.Report.Picture(id: id, upload: upload, type: picture.type, bytes: picture.bytes, offset: offset)
  }

  /// Lets go of a picture that a report has kept.
  func letGo(
    _ picture: Clique.Report.Picture, of report: UInt64, _ reports: inout Clique.Reports
  ) throws(ClientError) {
    guard var kept = try read(Clique.KeptPictures.self, Clique.KeptPictures.key(picture.id)),
      let index = kept.uploads.firstIndex(where: { $0.upload == picture.upload })
    else { return }
    kept.uploads[index].reports.removeAll { $0 == report }
    var released: [Clique.KeptPictures.Upload] = []
    if kept.uploads[index].reports.isEmpty {
      released = [kept.uploads.remove(at: index)]
      reports.keptBytes = max(0, (reports.keptBytes ?? 0) - picture.bytes)
    }
    write(kept, released: released)
  }

  fileprivate func write(_ kept: Clique.KeptPictures, released: [Clique.KeptPictures.Upload]) {
    let key = Clique.KeptPictures.key(kept.id)
    if kept.uploads.isEmpty { erase(key) } else { write(key, kept) }
    if released.isEmpty { return }
    add(.pictureFates([PictureFate(id: kept.id, isGone: false, released: released.map(\.upload.bytes))]))
    add(.scrub)
  }

  /// What becomes of the files of a picture that nobody may see any more.
  func fate(ofGone id: String) throws(ClientError) -> PictureFate {
    let kept = try read(Clique.KeptPictures.self, Clique.KeptPictures.key(id))
    return PictureFate(id: id, isGone: true, kept: kept?.uploads.map(\.upload.bytes) ?? [])
  }
}
