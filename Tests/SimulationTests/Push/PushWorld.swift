import Apps
import Foundation
import Log
import TestSupport
import Wire

@testable import Broker

/// The simulation of notifications: a broker with a messenger and the real app of notifications, over a log that a kill
/// cuts short; people with two to four devices, some of which look alive and say nothing; and services that answer
/// late, with failures, or never.
final class PushWorld {
  static let people = (0..<10).map { "user\($0)" }
  /// Simulated milliseconds of a step.
  static let step: Int64 = 100

  struct Device {
    var id: String
    var user: String
    /// Its socket looks alive, and it acknowledges nothing, until a notification wakes it.
    var isFrozen: Bool
  }

  /// Something that happens at a time.
  enum Event {
    case call(user: String, method: String, data: String)
    case answer(PushAnswer, life: Int)
  }

  var random: SeededRandom
  let log = PlainLog()
  let rules: NotificationRules
  let talk = TalkApp()
  private(set) var push: Notifications
  var store: TroubledStore
  var core: BrokerCore?
  /// The life of the broker: answers of services to one before go nowhere.
  private(set) var life = 0
  var now: Int64 = 0
  let start: Int64 = 1_700_000_000_000
  private var events: [Int64: [Event]] = [:]
  private var nextTag: UInt64 = 0
  let devices: [Device]
  var judge: PushJudge
  /// Monotonic time at which a broker comes up again.
  private var comesUp: Int64?
  /// Nothing goes wrong any more.
  var isHealed = false
  var messages = 0

  var wall: Int64 { start + now }
  var time: BrokerTime { BrokerTime(monotonic: now, wall: wall) }

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    var rules = NotificationRules { (json: [UInt8]) throws(ClientError) in
      guard let id = (try? JSONValue(parsing: json))?.object?["token"]?.string else { throw .badRequest }
      return PushDeviceName(id: id, kind: "fcm", json: json)
    }
    rules.sendsPerMinute = 100_000
    self.rules = rules
    push = Notifications(rules)
    var devices: [Device] = []
    for user in Self.people {
      for number in 0..<Int.random(in: 2...4, using: &random) {
        devices.append(Device(id: "\(user)-\(number)", user: user, isFrozen: random.chance(35)))
      }
    }
    self.devices = devices
    judge = PushJudge(rules)
    store = TroubledStore(log, seed: 1)
    log.written = { [unowned self] entry in judge.written(entry, at: wall) }
    startBroker()
    for device in devices {
      let json = Array(#"{"kind":"fcm","token":"\#(device.id)"}"#.utf8)
      serve(.push(.register(.init(device: json))), by: device.user)
      settle()
    }
  }

  // MARK: The broker

  private func startBroker() {
    life += 1
    var rules = self.rules
    rules.process = UInt64(life)
    push = Notifications(rules)
    store = TroubledStore(log, seed: random.next())
    var table = NamespaceTable()
    table.add(talk.namespaces, of: talk.name)
    table.add(push.namespaces, of: push.name)
    let configuration = BrokerConfiguration(namespaces: table, instance: UInt64(life))
    let memory = MemoryStore(randomness: SeededRandom(seed: random.next()))
    core = BrokerCore(configuration: configuration, memory: memory, disk: store)
    perform { core, turn in for app in [self.talk, self.push] as [any App] { core.install(app, in: &turn) } }
    judge.began(at: wall)
  }

  /// Kills the broker. Some of what waits gets to the disk, and nobody is told.
  private func kill() {
    _ = log.write(Int.random(in: 0...3, using: &random))
    log.kill()
    core = nil
    judge.killed()
    comesUp = now + Int64.random(in: 100...4000, using: &random)
  }

  func perform(_ input: (BrokerCore, inout Turn) -> Void) {
    guard let core else { return }
    var turn = Turn(at: time)
    input(core, &turn)
    for effect in turn.effects {
      switch effect {
      case .push(let send): take(send)
      case .tap(let channel, _, _): judge.shown(on: channel)
      case .send, .broadcast, .answer, .search, .post, .forget, .readPicture, .notify: break
      }
    }
  }

  private func serve(_ command: AppCommand, by user: String) {
    nextTag += 1
    let call = BrokerRequest.CallRequest(command, caller: ClientInfo(user: user, client: "service"))
    perform { core, turn in core.serve(.call(call), for: ServiceTag(number: self.nextTag), in: &turn) }
  }

  /// Lets everything happen that waits for the disk.
  private func settle() {
    for _ in 0..<200 {
      perform { $0.takeNews(in: &$1) }
      let completions = log.write()
      perform { $0.complete(completions, in: &$1) }
    }
  }

  // MARK: Services and phones

  private func take(_ send: PushSend) {
    judge.sent(send, at: wall)
    var verdicts: [String: PushAnswer.Verdict] = [:]
    for device in send.devices {
      switch Int.random(in: 0..<100, using: &random) {
      case 0 where !isHealed: verdicts[device.id] = .failed(reason: "away")
      case 1 where !isHealed: verdicts[device.id] = .unanswered(reason: "cut")
      case 2..<4 where !isHealed: verdicts[device.id] = .later(after: 1500, reason: "busy")
      default: verdicts[device.id] = .taken
      }
    }
    if isHealed || !random.chance(3) {
      let latency = random.chance(90) ? Int64.random(in: 20...400, using: &random) : 3000
      let answer = PushAnswer(user: send.user, number: send.number, verdicts: verdicts)
      at(now + latency, .answer(answer, life: life))
    } else {
      judge.coverage.lostAnswers += 1
    }
    if send.isWithdrawal || send.isUpdate { return }
    // The notification wakes the app, which fetches what there is; later somebody may read it.
    guard random.chance(60), let conversation = send.collapseKey.split(separator: ":").last else { return }
    let delay = Int64.random(in: 200...3000, using: &random)
    acknowledge(String(conversation), send.user, "delivered", after: delay)
    if random.chance(50) {
      acknowledge(String(conversation), send.user, "read", after: delay + Int64.random(in: 0...90_000, using: &random))
    }
  }

  private func at(_ time: Int64, _ event: Event) {
    events[(time + Self.step - 1) / Self.step * Self.step, default: []].append(event)
  }

  private func acknowledge(_ conversation: String, _ user: String, _ word: String, after delay: Int64) {
    at(now + delay, .call(user: user, method: "talk.\(word)", data: conversation))
  }

  /// A message, and what the devices of the person do that are alive.
  private func say() {
    let pair = Int.random(in: 0..<12, using: &random)
    let (one, other) = (Self.people[pair % 10], Self.people[(pair * 3 + 1) % 10])
    let (from, to) = random.chance(50) ? (one, other) : (other, one)
    messages += 1
    serve(.other(.init(method: "talk.say", data: Array("\(pair) \(to)".utf8))), by: from)
    for device in devices where device.user == to && !device.isFrozen {
      let delay: Int64? =
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: Int64.random(in: 50...1500, using: &random)
        case 40..<55: Int64.random(in: 3000...7000, using: &random)
        case 55..<65: Int64.random(in: 15_000...90_000, using: &random)
        default: nil
        }
      guard let delay else { continue }
      acknowledge("\(pair)", to, "delivered", after: delay)
      if random.chance(20) { acknowledge("\(pair)", to, "read", after: delay + 2000) }
    }
  }

  private func happen(_ event: Event) {
    switch event {
    case .answer(let answer, let life):
      guard life == self.life, core != nil else { return }
      perform { $0.pushed(answer, in: &$1) }
    case .call(let user, let method, let conversation):
      // A phone acknowledges what it knows: what is on the disk.
      guard let standing = judge.standings["\(user)/\(conversation)"] else { return }
      // Some read only the beginning of what there is.
      let isPart = method == "talk.read" && !isHealed && standing.read < standing.count && random.chance(30)
      let count = isPart ? Int.random(in: standing.read...standing.count, using: &random) : standing.count
      let data = "\(conversation) \(count)"
      serve(.other(.init(method: method, data: Array(data.utf8))), by: user)
    }
  }

  // MARK: Time

  /// - Parameter chance: percent of steps in which somebody writes; bursts of some messages.
  func step(writing chance: Int) {
    now += Self.step
    if let up = comesUp, up <= now {
      comesUp = nil
      startBroker()
    }
    if core?.isStarting == false {
      for event in events.removeValue(forKey: now) ?? [] { happen(event) }
      if random.chance(chance) { for _ in 0..<Int.random(in: 1...6, using: &random) { say() } }
    } else {
      // Phones and services try again.
      for event in events.removeValue(forKey: now) ?? [] { at(now + Self.step, event) }
    }
    for _ in 0..<40 {
      perform { $0.tick(in: &$1) }
      perform { $0.takeNews(in: &$1) }
      commit()
      if log.waiting == 0, core?.stores.room.isEmpty ?? true { break }
    }
    if !isHealed, core != nil, random.chance(1), random.chance(15) {
      judge.coverage.kills += 1
      kill()
    }
    if core?.isStarting == false { judge.look(at: wall) }
  }

  private func commit() {
    var error: LogError?
    if !isHealed, log.waiting > 0, random.chance(1), random.chance(3) {
      error = .full("simulated")
      judge.failed(at: wall)
    }
    let completions = log.write(failing: error)
    if !completions.isEmpty { perform { $0.complete(completions, in: &$1) } }
  }

  /// Everybody reads everything.
  func readAll() {
    for (key, standing) in judge.standings where standing.read < standing.count {
      let words = key.split(separator: "/")
      guard words.count == 2 else { continue }
      happen(.call(user: String(words[0]), method: "talk.read", data: String(words[1])))
    }
  }
}
