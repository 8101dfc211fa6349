import TestSupport
import Wire

@testable import FanfareClient

/// A server that does each key once, and a network that loses connections, requests and answers.
///
/// Time is not simulated: keys are known for ever, as the time of a key is another test's.
struct QueueWorld {
  private var machine: ClientMachine
  private var random: SeededGenerator
  private var made: CallID = 0
  /// What the server has done, in order.
  private var done: [CallID] = []
  /// Commands that have left the client and have not been done.
  private var onTheWay: [ClientCommand] = []
  /// Answers that have left the server.
  private var answers: [ClientReply] = []
  private var ended: [CallID: [Result<ClientReply, RealtimeError>]] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    machine = ClientMachine(.init(token: "t", maximumQueuedCalls: .max, random: { 0 }))
    take(machine.handle(.connect))
  }

  mutating func step() {
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: make()
    case 2, 3: serve(answering: true)
    case 4: serve(answering: false)
    case 5, 6: hear()
    case 7: resume()
    case 8: lose()
    default: connect()
    }
  }

  /// Lets everything come to its end, and says what went wrong.
  mutating func faults() -> [String] {
    for _ in 0..<10_000 where !machine.calls.isEmpty {
      connect()
      serve(answering: true)
      hear()
      resume()
    }
    var faults: [String] = []
    if !machine.calls.isEmpty { faults.append("\(machine.calls.count) calls never ended") }
    if done != (0..<made).map({ $0 + 1 }) { faults.append("done: \(done.prefix(20)) of \(made)") }
    for id in 1..<(made + 1) where ended[id]?.count != 1 { faults.append("\(id) ended \(ended[id]?.count ?? 0) times") }
    for (id, results) in ended {
      for case .failure(let error) in results { faults.append("\(id) failed: \(error)") }
    }
    return faults
  }

  private mutating func make() {
    made += 1
    let keep = CallOptions.Keep(lane: "l", repetition: .whileKnown(.seconds(300)), key: "\(made)", bytes: 1)
    take(machine.handle(.call(made, .rpc(method: "\(made)", data: []), .init(keep: keep))))
  }

  /// The server does the oldest command that has come: each key once, in any case with an answer, which may be lost.
  private mutating func serve(answering: Bool) {
    guard !onTheWay.isEmpty else { return }
    let command = onTheWay.removeFirst()
    guard case .rpc(let method, _) = command.body, let id = CallID(method) else { return }
    // Sometimes the broker cannot do it now.
    if Int.random(in: 0..<5, using: &random) == 0 {
      answers.append(.error(id: command.id, .internalError))
      return
    }
    if !done.contains(id) { done.append(id) }
    if answering { answers.append(.rpc(id: command.id, data: [])) }
  }

  private mutating func hear() {
    guard !answers.isEmpty else {
      // Nothing comes: whoever waits for an answer gives up waiting.
      for id in machine.calls.keys.sorted() where machine.calls[id]?.phase == .sent && onTheWay.isEmpty {
        take(machine.handle(.elapsed(.answer(id))))
      }
      return
    }
    take(machine.receives(answers.removeFirst()))
  }

  private mutating func resume() {
    for id in machine.calls.keys.sorted() where machine.calls[id]?.phase == .pausing {
      take(machine.handle(.elapsed(.pause(id))))
    }
  }

  private mutating func lose() {
    guard machine.phase == .connected else { return }
    // What was on its way may still arrive, as from a socket that is read after its end.
    if Bool.random(using: &random) { onTheWay = [] }
    answers = []
    take(machine.isClosed(nil))
    // What arrives late is done, and its answer goes nowhere.
    for command in onTheWay {
      if case .rpc(let method, _) = command.body, let id = CallID(method), !done.contains(id) { done.append(id) }
    }
    onTheWay = []
  }

  private mutating func connect() {
    switch machine.phase {
    case .backingOff: take(machine.handle(.elapsed(.reconnect)))
    case .opening: take(machine.connects())
    default: break
    }
  }

  private mutating func take(_ effects: [Effect]) {
    onTheWay += effects.sent.filter { if case .rpc = $0.body { true } else { false } }
    for case .complete(let id, let result) in effects { ended[id, default: []].append(result) }
  }
}
