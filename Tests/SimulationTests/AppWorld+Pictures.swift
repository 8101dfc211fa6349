import Wire

@testable import Apps

/// People upload pictures of Clique, send them, show them in their profiles, take them back and look at them; and what
/// the answers must be by what they know (``PictureAlbum``).
extension AppWorld {
  /// Opens conversations before anything breaks: requests take no pictures.
  func beginInConversations() {
    for (user, other) in zip(Self.people, Self.people.dropFirst()) {
      guard let asks = phones.first(where: { $0.user == user }), let answers = phones.first(where: { $0.user == other })
      else { continue }
      say(asks, other)
      runUntilQuiet()
      ask(Command(method: "clique.accept", data: #"{"person":"\#(user)"}"#), answers)
      runUntilQuiet()
    }
  }

  func actWithPicture(_ phone: Phone, _ other: String) {
    let own = album.pictures.filter { $0.owner == phone.user }
    let sent = own.filter { $0.offset != nil && !$0.isRemovalAsked }
    let unused = own.filter(\.isUnused).suffix(4)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<22: upload(phone)
    case 22..<46: if let picture = pick(unused) { send(picture, other, phone) } else { upload(phone) }
    case 46..<52: sendAgain(pick(sent), phone)
    case 52..<60: remove(pick(sent), phone)
    case 60..<66:
      let isFree = random.chance(70)
      guard let picture = pick(own.filter { $0.offset == nil && !$0.isForProfile || !isFree }) else { return }
      discard(picture, phone)
    // Of somebody else's, nothing is said and nothing done.
    case 66..<68: if let foreign = pick(album.pictures.filter({ $0.owner != phone.user })) { discard(foreign, phone) }
    case 68..<78: show(unused, phone)
    case 78..<88: report(pick(album.pictures.filter { $0.offset != nil && $0.readers.contains(phone.user) }), phone)
    default: if let picture = pick(album.pictures.suffix(12)) { fetch(picture, phone) }
    }
  }

  /// Whom a picture is sent to: requests take none, so nearly always somebody with whom a conversation is open.
  private func reader(for phone: Phone, or other: String) -> String {
    let open = Self.people.filter { person in
      let id = Clique.Pair(phone.user, person).id
      let pair = AppOracle.record(Clique.Pair.self, Clique.Key.pair(id), ledger, of: "clique")
      return person != phone.user && pair?.state == .unblocked(.active)
    }
    return random.chance(90) ? open.randomElement(using: &random) ?? other : other
  }

  private func pick(_ pictures: some Collection<PictureAlbum.Picture>) -> PictureAlbum.Picture? {
    pictures.randomElement(using: &random)
  }

  // MARK: What they do

  @discardableResult
  func upload(_ phone: Phone, begins: Bool? = nil) -> PictureAlbum.Picture {
    let picture = album.add(of: phone.user, bytes: Int64.random(in: 1...1000, using: &random))
    if begins ?? random.chance(30) {
      let added = PictureCommand.Picture(
        id: picture.id, type: nil, bytes: picture.bytes * 2, key: picture.key, upload: Array(picture.id.utf8))
      ask(command(.add(added), .begin, picture.id), phone)
    }
    let added = PictureCommand.Picture(
      id: picture.id, type: "image/jpeg", bytes: picture.bytes, width: 8, height: 8, key: picture.key,
      upload: Array(picture.id.utf8))
    var command = command(.add(added), .upload, picture.id)
    command.mayBeAskedAgain = true
    ask(command, phone)
    return picture
  }

  /// A command that a gateway gives.
  private func command(_ command: PictureCommand, _ kind: PictureStep.Kind, _ id: String) -> Command {
    let given = CliqueCommand.picture(command)
    var command = Command(method: given.method.name, data: "", gateways: .clique(given), time: wall)
    command.picture = PictureStep(id: id, kind: kind)
    return command
  }

  private func send(_ picture: PictureAlbum.Picture, _ other: String, _ phone: Phone) {
    let other = reader(for: phone, or: other)
    let text = newText("message")
    var command = Command(
      method: "clique.send",
      data: #"{"to":"\#(other)","text":"\#(text)","key":"\#(text)","picture":{"id":"\#(picture.id)","hash":"x"}}"#,
      text: text, time: wall)
    command.mayBeAskedAgain = true
    command.picture = PictureStep(id: picture.id, kind: .send)
    album.change(picture.id) { picture in
      picture.sending = command
      picture.sends = 0
      picture.readers.insert(other)
    }
    ask(command, phone)
  }

  /// A phone that has lost its memory of the answer sends the same message.
  private func sendAgain(_ picture: PictureAlbum.Picture?, _ phone: Phone) {
    // Keys are remembered for five minutes.
    guard let command = picture?.sending, wall - command.time < 200_000 else { return }
    ask(command, phone)
  }

  private func remove(_ picture: PictureAlbum.Picture?, _ phone: Phone) {
    guard let picture, let channel = picture.channel, let offset = picture.offset else { return }
    var command = Command(method: "delete", data: "", time: wall)
    command.mayBeAskedAgain = true
    command.picture = PictureStep(id: picture.id, kind: .remove(channel, offset))
    ask(command, phone)
  }

  private func report(_ picture: PictureAlbum.Picture?, _ phone: Phone) {
    guard let picture, let offset = picture.offset else { return }
    var command = Command(
      method: "clique.report", data: #"{"person":"\#(picture.owner)","offset":\#(offset),"reason":"nudity"}"#,
      time: wall)
    command.picture = PictureStep(id: picture.id, kind: .report)
    ask(command, phone)
  }

  func discard(_ picture: PictureAlbum.Picture, _ phone: Phone) {
    var command = command(.discard(id: picture.id), .discard, picture.id)
    command.mayBeAskedAgain = true
    ask(command, phone)
  }

  /// Shows a picture in the profile, alone or with a small one for lists; or none.
  func show(_ unused: some Collection<PictureAlbum.Picture>, _ phone: Phone) {
    var ids: [String] = []
    if let large = pick(unused), !faults || random.chance(85) {
      ids.append(large.id)
      let others = unused.filter { $0.id != large.id }
      if random.chance(30), let small = pick(others) { ids.append(small.id) }
    }
    var content = "null"
    if let large = ids.first {
      content = ids.count > 1 ? #"{"id":"\#(large)","small":"\#(ids[1])"}"# : #"{"id":"\#(large)"}"#
    }
    var command = Command(method: "clique.profile.set", data: #"{"picture":\#(content)}"#, time: wall)
    command.picture = PictureStep(id: "", kind: .show(ids))
    ask(command, phone)
  }

  /// - Parameter expected: what the answer must be by the disk; nil: the disk does not tell.
  func fetch(_ picture: PictureAlbum.Picture, _ phone: Phone, expected: Bool? = nil) {
    // An id is barred for five minutes, and an upload that took longer to come would be taken.
    let isGone = album[picture.id]?.goneSince.map { wall - $0 < 200_000 } ?? false
    let fetch = PictureStep.Fetch(
      isPromised: album.isPromised(picture, to: phone.user), isGone: isGone, expected: expected)
    ask(command(.key(id: picture.id), .fetch(fetch), picture.id), phone)
  }

  // MARK: What is noted when something is asked

  func noteAsked(_ command: Command, _ phone: Phone) {
    if ["clique.block", "clique.disconnect", "clique.decline", "clique.disappear"].contains(command.method) {
      if command.method == "clique.block" { album.blockers.insert(phone.user) }
      guard let other = AppOracle.object(Array(command.data.utf8))?["person"] as? String else { return }
      let conversation = Self.conversation(phone, other)
      if command.method == "clique.disappear" {
        album.vanishing.insert(conversation)
      } else {
        album.parted.insert(conversation)
      }
    }
    guard let step = command.picture else { return }
    switch step.kind {
    case .begin, .upload: folders[phone.gateway].coming.insert(step.id)
    case .send: album.change(step.id) { $0.sends += 1 }
    case .remove: album.change(step.id) { $0.isRemovalAsked = true }
    case .discard: if album[step.id]?.owner == phone.user { album.change(step.id) { $0.isDiscardAsked = true } }
    case .show(let ids): album.showing(ids, by: phone.user)
    case .report, .fetch: break
    }
  }

  // MARK: Answers

  func answered(_ step: PictureStep, _ response: BrokerResponse, _ phone: Phone) {
    var data: [UInt8]?
    var failure: ClientError?
    switch response {
    case .result(let result): data = result
    // A broker that was started since finds the removal in the log.
    case .published where step.isRemoval: data = []
    case .failed(let error): failure = error
    default: return
    }
    // Whether it was done; nil: it is not known.
    let isDone: Bool? = failure.map { $0.code == 100 ? nil : false } ?? true
    switch step.kind {
    case .begin: if isDone == true { coverage.pictures.begun += 1 }
    case .upload: uploaded(step.id, isDone: isDone, phone)
    case .send: sent(step.id, data, isDone: isDone, phone)
    case .remove:
      guard isDone == true else { return }
      coverage.pictures.removed += 1
      album.change(step.id) { $0.goneSince = $0.goneSince ?? wall }
    case .discard: discarded(step.id, failure, phone)
    case .report:
      guard isDone == true, let picture = album[step.id] else { return }
      coverage.pictures.reported += 1
      // Where a removal is under way, nobody knows which of the two came first.
      if album.isKept(picture) { album.change(step.id) { $0.isReported = true } }
    case .show(let ids):
      if isDone == true, !ids.isEmpty { coverage.pictures.shown += 1 }
      coverage.pictures.replaced += album.shown(ids, by: phone.user, isDone: isDone, at: wall)
    case .fetch(let fetch): fetched(step.id, fetch, data, failure, phone)
    }
  }

  private func uploaded(_ id: String, isDone: Bool?, _ phone: Phone) {
    guard let isDone else { return }
    let wasComing = folders[phone.gateway].coming.remove(id) != nil
    guard isDone else { return }
    coverage.pictures.uploaded += 1
    album.change(id) { $0.isUploaded = true }
    // What was deleted meanwhile stays deleted.
    if wasComing { folders[phone.gateway].files.insert(id) }
  }

  private func sent(_ id: String, _ data: [UInt8]?, isDone: Bool?, _ phone: Phone) {
    guard let picture = album[id] else { return }
    if isDone == false, picture.sends == 1 { return album.change(id) { $0.sending = nil } }
    guard let object = AppOracle.object(data), let offset = object["offset"] as? Int,
      let conversation = object["conversation"] as? String
    else { return }
    let place = (channel: AppOracle.name("clique.chat:" + conversation), offset: UInt64(offset))
    coverage.pictures.sent += 1
    if picture.sends > 1 { coverage.pictures.sentAgain += 1 }
    if let known = picture.offset, known != place.offset || picture.channel != place.channel {
      fail("\(id) was sent as \(known), and again as \(place.offset) of \(place.channel)")
    }
    album.change(id) { ($0.channel, $0.offset) = (place.channel, place.offset) }
  }

  private func discarded(_ id: String, _ failure: ClientError?, _ phone: Phone) {
    guard let picture = album[id], picture.owner == phone.user else { return }
    if let failure {
      if failure.code == StatePictureID.unknown.code { coverage.pictures.inUse += 1 }
      return
    }
    if album.isKept(picture) { fail("\(phone.name) discarded \(id), which is in use") }
    coverage.pictures.discarded += 1
    album.change(id) { $0.goneSince = $0.goneSince ?? wall }
  }

  private func fetched(
    _ id: String, _ fetch: PictureStep.Fetch, _ data: [UInt8]?, _ failure: ClientError?, _ phone: Phone
  ) {
    guard let picture = album[id] else { return }
    let isPromised = fetch.isPromised && album.isPromised(picture, to: phone.user)
    guard let data else {
      let isRefused = failure?.code == Clique.noPicture.code
      if isRefused { coverage.pictures.refused += 1 }
      if isRefused && isPromised { fail("\(phone.name) does not get \(id), which stands") }
      if fetch.expected == true { fail("\(phone.name) does not get \(id): \(failure?.message ?? "")") }
      return
    }
    if picture.owner == phone.user { coverage.pictures.fetched += 1 } else { coverage.pictures.read += 1 }
    if AppOracle.object(data)?["key"] as? String != Base64.standard.text(picture.key) {
      fail("\(phone.name) gets another key of \(id)")
    }
    if fetch.isGone { fail("\(phone.name) gets \(id), which is gone") }
    if fetch.expected == false { fail("\(phone.name) gets \(id), which the disk says is not theirs to see") }
    if !album.isMeant(picture, for: phone.user) || isHidden(id, from: phone.user) {
      fail("\(phone.name) gets \(id), which is not for \(phone.user)")
    }
    if isPromised, !folders.contains(where: { $0.files.contains(id) }) { fail("\(id) stands, and its file is gone") }
  }

  /// Whether the message with the picture is for somebody else alone.
  private func isHidden(_ id: String, from user: String) -> Bool {
    guard let record = AppOracle.record(Clique.Picture.self, Clique.Key.picture(id), ledger, of: "clique"),
      case .message(let conversation, let offset) = record.use, record.owner != user
    else { return false }
    let kept = ledger.channels[AppOracle.name("clique.chat:" + conversation)]?.kept.first { $0.offset == offset }
    return kept?.tags[Clique.Tag.only].map { $0 != user } ?? false
  }
}
