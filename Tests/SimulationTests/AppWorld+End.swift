import Foundation
import Gateway
import Log
import TestSupport
import Wire

@testable import Apps
@testable import Broker

/// The end of a run: everything heals, and what everybody sees is compared with the disk.
extension AppWorld {
  /// Lets everything that is under way arrive and everybody catch up. Nothing breaks any more.
  func heal() {
    faults = false
    disk.heal()
    if log?.hasFailed == true { stopBroker(.clean) }
    if broker == nil { startBroker() }
    // A gateway whose hellos were lost again and again asks every fifteen seconds.
    for round in 0..<160 where round < 60 || !gateways.allSatisfy(\.link.isOpen) {
      runUntilQuiet()
      passTime(100)
    }
    for _ in 0..<6 {
      for phone in phones { follow(phone, all: true) }
      runUntilQuiet()
      passTime(300)
      runUntilQuiet()
    }
    settleVanishing()
  }

  func runUntilQuiet() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      while let broker, broker.isStarting || !broker.stores.room.isEmpty {
        isQuiet = false
        read()
        commit(.max)
      }
      for index in gateways.indices {
        while !gateways[index].toBroker.isEmpty {
          isQuiet = false
          let message = gateways[index].toBroker.removeFirst()
          let gateway = gateways[index].link.configuration.gateway
          perform { $0.receive(message, from: gateway, in: &$1) }
        }
        commit(.max)
        while !gateways[index].toGateway.isEmpty {
          isQuiet = false
          let message = gateways[index].toGateway.removeFirst()
          perform(index) { $0.receive(message, at: self.now, into: &$1) }
        }
        for loop in 0..<2 { while !gateways[index].loops[loop].isEmpty { workOff(index, loop) } }
        let queued = gateways[index].queuedBytes
        perform(index) { $0.acknowledge(queuedBytes: queued, at: self.now, into: &$1) }
      }
    }
  }

  /// Checks what must hold when nothing is under way.
  func judge() {
    for phone in phones {
      if !phone.calls.isEmpty { fail("\(phone.name): \(phone.calls.values.map(\.method)) were never answered") }
      for user in ["clique.list", "clique.blocked", "state.threads"] { judgeMap(phone, user) }
      for other in Self.people where other != phone.user { judgeChat(phone, other) }
    }
    judgeAcknowledgements()
    judgeLists()
    judgeGroups()
    judgeVanishing()
    judgePictures()
    if let log { for complaint in ledger.compare(log.store) { fail(complaint) } }
    for channel in ledger.channels.values { coverage.unseen += channel.kept.count { $0.tags["only"] != nil } }
  }

  private func judgeMap(_ phone: Phone, _ namespace: String) {
    let channel = AppOracle.name("\(namespace):\(phone.user)")
    guard let following = phone.following[channel], following.state == .live else {
      return fail("\(phone.name) never came back to \(channel)")
    }
    let stored = (ledger.channels[channel]?.entries ?? [:]).mapValues { entry in
      // No caption may be readable on the disk.
      if String(decoding: entry.data, as: UTF8.self).contains("secret-") { fail("\(channel) holds a secret on disk") }
      return String(
        decoding: namespace == "state.threads" ? state.shown(entry.data, of: channel) : entry.data, as: UTF8.self)
    }
    let shown = following.entries.mapValues { String(decoding: $0, as: UTF8.self) }
    if shown != stored { fail("\(phone.name) sees in \(channel) \(shown), and there is \(stored)") }
  }

  private func judgeChat(_ phone: Phone, _ other: String) {
    let channel = AppOracle.chat(phone.user, other)
    let blank = Clique.Pair(phone.user, other)
    let pair = AppOracle.record(Clique.Pair.self, "pair/" + blank.id, ledger, of: "clique") ?? blank
    guard let side = pair.side(of: phone.user), let following = phone.following[channel] else { return }
    // Somebody who blocks may stay subscribed, so that the other does not see them leave.
    if pair.state.isBlocked(by: side), pair.state.mayReadBeneath(side) { return }
    guard pair.state.sight(of: side).mayRead else {
      if following.state == .live { fail("\(phone.name) is on \(channel), and the pair is \(pair.state)") }
      return
    }
    guard following.state == .live else { return fail("\(phone.name) never came back to \(channel)") }
    let kept = (ledger.channels[channel]?.kept ?? []).filter { $0.tags["only"].map { $0 == phone.user } ?? true }
    if following.seen.map(\.offset) != kept.map(\.offset) {
      fail("\(phone.name) saw \(following.seen.map(\.offset)) of \(channel), and there are \(kept.map(\.offset))")
    }
  }

  /// Checks that each acknowledged message stands at its offset and nowhere else.
  private func judgeAcknowledgements() {
    for acknowledged in oracle.acknowledged {
      let kept = ledger.channels[acknowledged.channel]?.kept ?? []
      if let there = kept.first(where: { $0.offset == acknowledged.offset }), isGone(there, on: acknowledged.channel) {
        continue
      }
      let opened = kept.map { clique.opened($0, on: acknowledged.channel, at: wall) }
      let messages = opened.filter { $0.tags["edits"] == nil }
      let places = messages.filter { AppOracle.object($0.data)?["text"] as? String == acknowledged.text }.map(\.offset)
      if places != [acknowledged.offset] {
        fail("\(acknowledged.text) was acknowledged as \(acknowledged.offset) of \(acknowledged.channel): \(places)")
      }
    }
  }

  /// Checks that lists show what would be worked out from the records now.
  private func judgeLists() {
    let view = DiskView(ledger: ledger, now: wall, clique: clique)
    for (a, b) in AppOracle.couples {
      for user in [a, b] {
        let id = Clique.Pair(a, b).id
        let entry = try? clique.entry(id, of: AppOracle.list(user), view)
        let stored = ledger.channels[AppOracle.list(user)]?.entries[id]
        if entry?.data != stored?.data {
          let texts = [entry?.data, stored?.data].map { $0.map { String(decoding: $0, as: UTF8.self) } ?? "nothing" }
          fail("\(user)'s list should show \(texts[0]), and shows \(texts[1])")
        }
      }
    }
  }

  /// Lets all timers fire, and checks that nothing waits any more and no secret is left.
  func outlive() {
    for _ in 0..<40 {
      clock.jump(10_000)
      for _ in 0..<3 {
        passTime(100)
        runUntilQuiet()
      }
    }
    for app in ["clique", "state"] {
      for lane in AppLane.allCases {
        let records = AppOracle.name(app + ".records:all")
        let due = (try? log?.store.keys(of: records, score: lane.rawValue, expiringBy: wall, limit: 9)) ?? []
        if !due.isEmpty { fail("\(app): \(due) are still due") }
      }
    }
    for (a, b) in AppOracle.couples {
      for (user, other) in [(a, b), (b, a)] {
        let entry = AppOracle.object(ledger.channels[AppOracle.threads(user)]?.entries[other]?.data)
        if let phase = entry?["phase"] as? String, phase != "idle" { fail("\(user)'s thread is \(phase) for ever") }
      }
      let pair = AppOracle.record(Clique.Pair.self, "pair/" + Clique.Pair(a, b).id, ledger, of: "clique")
      if let pair, !pair.waiting.isEmpty { fail("\(pair.waiting.count) messages wait for ever") }
    }
    judgeVanished()
    for (name, channel) in ledger.channels {
      for entry in channel.entries.values where String(decoding: entry.data, as: UTF8.self).contains("secret-") {
        fail("\(name) still holds a secret")
      }
    }
    let pictures = ledger.channels[AppOracle.name("state.records:all")]?.entries.keys.filter {
      $0.utf8.starts(with: StateKeys.picture.utf8) || $0.utf8.starts(with: StateKeys.thread.utf8)
    }
    let kept = (pictures ?? []).filter { key in
      // A thread's record may stay for a block, but without contents.
      AppOracle.record(StateThread.self, key, ledger, of: "state").map { $0.standing != nil } ?? true
    }
    if !kept.isEmpty { fail("\(kept.sorted()) outlived their time") }
    judgeFiles()
  }
}

/// What the app Clique would see in a broker that has just opened the disk.
final class DiskView: AppView {
  let ledger: Ledger
  let now: Int64
  let clique: Clique

  init(ledger: Ledger, now: Int64, clique: Clique) {
    self.ledger = ledger
    self.now = now
    self.clique = clique
  }

  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    AppOracle.record(type, key, ledger, of: "clique")
  }

  func top(of channel: ChannelName) throws(ClientError) -> UInt64 { ledger.channels[channel]?.top ?? 0 }

  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication] {
    (ledger.channels[channel]?.kept ?? []).suffix(count).reversed().map { clique.opened($0, on: channel, at: now) }
  }
}
