import Apps
import Broker
import Foundation
import Gateway
import Wire

/// What phones are sent, and what they do upon it.
extension AppWorld {
  func workOff(_ gateway: Int, _ loop: Int) {
    var count = Int.random(in: 1...12, using: &random)
    while count > 0 && !gateways[gateway].loops[loop].isEmpty {
      count -= 1
      handle(gateways[gateway].loops[loop].removeFirst(), gateway, loop)
    }
  }

  private func handle(_ handover: Handover, _ gateway: Int, _ loop: Int) {
    let here = phones.filter { $0.gateway == gateway && $0.loop == loop }
    switch handover {
    case .publication(let channel, let publication, let isFiltered):
      for phone in here {
        guard let following = phone.following[channel], following.state == .live else { continue }
        if isFiltered, following.audience?.matches(publication) == false { continue }
        receive(publication.withoutAudienceTags, publication, following, phone)
      }
    case .audience(let change):
      for phone in here where phone.user == change.user {
        guard let following = phone.following[change.channel], following.state == .live else { continue }
        switch change.admission {
        case .admitted:
          following.audience = change.audience
          following.wasFiltered = following.wasFiltered || change.audience != nil
        case .refused:
          coverage.letGo += 1
          phone.heard.append("\(change.channel) ends")
          leave(phone, following)
          following.forget()
        case .unknown: leave(phone, following)
        }
      }
    case .presence(let channel, let member, let isThere):
      for phone in here {
        guard let following = phone.following[channel], following.state == .live,
          following.audience?.matches(member: member) ?? true
        else { continue }
        phone.heard.append("\(channel) \(member.client) \(isThere ? "joins" : "leaves")")
      }
    case .lost(let channel):
      for phone in here {
        guard let following = phone.following[channel], following.state == .live else { continue }
        leave(phone, following)
      }
    case .answer(let source, let response):
      if source.connection == Self.folderConnection { return reconciled(response, to: source.tag, gateway) }
      guard let phone = here.first(where: { $0.connection == source.connection }) else { return }
      if let command = phone.calls.removeValue(forKey: source.tag) {
        answered(command, response, phone)
      } else if let following = phone.following.values.first(where: { $0.state == .asked(tag: source.tag) }) {
        subscribed(following, response, phone)
      }
    }
  }

  /// A phone gets a live publication.
  ///
  /// - Parameter whole: the publication with the tags that phones are not sent.
  private func receive(_ publication: Publication, _ whole: Publication, _ following: Following, _ phone: Phone) {
    let before = following.position?.offset ?? 0
    if publication.offset <= before || !following.wasFiltered && publication.offset != before + 1 {
      fail("\(phone.name) on \(following.channel): live publication \(publication.offset) after \(before)")
    }
    following.position?.offset = publication.offset
    see(publication, following, phone)
    if let only = whole.tags["only"], only != phone.user { fail("\(phone.name) is sent what only \(only) may see") }
  }

  private func see(_ publication: Publication, _ following: Following, _ phone: Phone) {
    check(publication, following.channel, phone)
    let tags = publication.tags.sorted { $0.key < $1.key }
    let text = publication.change?.removed == true ? "removed" : String(decoding: publication.data, as: UTF8.self)
    phone.heard.append("\(following.channel) \(publication.offset) \(text) \(tags)")
    if following.isMap {
      following.apply(publication)
    } else {
      following.seen.append(publication)
    }
  }

  private func check(_ publication: Publication, _ channel: ChannelName, _ phone: Phone) {
    if publication.tags["only"] != nil || publication.tags["hidden"] != nil { fail("\(phone.name) is sent a tag") }
    if let complaint = oracle.shown(publication.data, to: phone.user, on: channel, time: wall, state.rules) {
      fail(complaint)
    }
    if AppOracle.object(publication.data)?["event"] as? String == "expired" { coverage.expired += 1 }
    guard channel.namespace == "clique.chat" else { return }
    guard let kept = ledger.channels[channel]?.kept.first(where: { $0.offset == publication.offset }) else {
      return fail("\(phone.name) is sent \(channel) \(publication.offset), which is not on disk")
    }
    // What was over meanwhile is gone from the disk.
    let isGone = isGone(kept, on: channel)
    if !isGone, clique.opened(kept, on: channel, at: wall).shown(to: phone.user).data != publication.data {
      fail("\(phone.name) is sent \(channel) \(publication.offset) otherwise")
    }
    if let only = kept.tags["only"], only != phone.user { fail("\(phone.name) is sent what only \(only) may see") }
  }

  private func subscribed(_ following: Following, _ response: BrokerResponse, _ phone: Phone) {
    switch response {
    case .subscribed(let answer):
      following.state = .live
      following.audience = answer.audience
      following.wasFiltered = following.wasFiltered || answer.audience != nil
      if following.isMap {
        if following.cursor != nil { following.entries = [:] }
        for entry in answer.entries { see(entry, following, phone) }
        following.cursor = nil
      } else {
        if !answer.recovered {
          fail("\(phone.name): \(following.channel) cannot be read from \(following.position as Any)")
        }
        var last = following.position?.offset ?? 0
        for publication in answer.publications {
          if publication.offset <= last || !following.wasFiltered && publication.offset != last + 1 {
            fail("\(phone.name): \(following.channel) is recovered with \(publication.offset) after \(last)")
          }
          last = publication.offset
        }
        coverage.recovered += answer.publications.count
      }
      for publication in answer.publications { see(publication, following, phone) }
      following.position = answer.position
    case .mapPage(let page):
      following.state = .idle
      if following.cursor?.isEmpty == true { following.entries = [:] }
      for publication in page.entries + page.changes { see(publication, following, phone) }
      following.position = page.position
      if page.phase == .state { following.cursor = page.cursor.isEmpty ? nil : page.cursor }
      subscribe(phone, following)
    case .failed(let error):
      following.state = .idle
      if error.code == 112 {
        coverage.unrecoverable += 1
        following.forget()
      }
      if error.code == 103 { following.forget() }
    default: fail("\(phone.name): a subscribe was answered with \(response)")
    }
    let isOfTwo = ["clique.chat", "clique.receipts", "clique.typing"].contains(following.channel.namespace)
    let isForeign = !isOfTwo && String(following.channel.rest) != phone.user
    if isForeign, following.state == .live { fail("\(phone.name) is let into \(following.channel)") }
  }

  private func answered(_ command: Command, _ response: BrokerResponse, _ phone: Phone) {
    answers.append("\(phone.name) \(command.method): \(response)")
    defer { onAnswer?(phone, response) }
    if let step = command.picture { answered(step, response, phone) }
    switch response {
    case .result(let data):
      if let complaint = oracle.shown(data, to: phone.user, on: nil, time: wall, state.rules) { fail(complaint) }
      let object = AppOracle.object(data)
      switch command.method {
      case "clique.send":
        guard let offset = object?["offset"] as? Int, let id = object?["conversation"] as? String else { break }
        coverage.messages += 1
        oracle.sent(command.text, channel: AppOracle.name("clique.chat:" + id), offset: UInt64(offset))
      case "clique.accept": coverage.opened += 1
      case "state.send": if object?["phase"] as? String == "revealed" { coverage.revealed += 1 }
      default: answeredInGroup(command, object)
      }
    case .failed(let error):
      coverage.refused += 1
      if error.code == 100 && command.mayBeAskedAgain { phone.unclear.append(command) }
    case .presence(let members, _) where command.method == "presence":
      // Members come in no certain order, so they are sorted for comparing.
      answers[answers.count - 1] = "\(phone.name) presence: \(members.sorted { $0.client < $1.client })"
    case .history(let page) where command.method == "history":
      // The epoch is left out: the store draws epochs in turn, so a channel's depends on how many were opened before.
      let publications = page.publications.map { publication in
        let tags = publication.tags.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return "\(publication.offset) \(publication.time) \(String(decoding: publication.data, as: UTF8.self)) \(tags)"
      }
      answers[answers.count - 1] = "\(phone.name) history: \(page.position.offset) \(publications)"
    case .published where command.picture?.isRemoval == true: break
    default: fail("\(phone.name): \(command.method) was answered with \(response)")
    }
  }
}
