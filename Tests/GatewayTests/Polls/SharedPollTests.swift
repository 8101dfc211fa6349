import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("SharedPoll: one question for all who track a key")
struct SharedPollTests {
  @Test("many who track a key cost one question, at once and then each interval, and none when nobody does")
  func onePoll() {
    let scene = PollScene()
    for number in 1...100 { #expect(scene.track(UInt64(number), ["a": 0]) == []) }
    #expect(scene.asked == ["a"])
    scene.answer([item("a", "1")])
    #expect(scene.looked().count == 100)
    for _ in 0..<5 {
      let before = scene.now
      scene.passToNext()
      #expect(scene.asked == ["a"] && scene.now - before <= 11_000)
      scene.answer([item("a", "1")])
      #expect(scene.looked() == [])
    }
    for number in 1...100 { scene.untrack(UInt64(number), ["a"]) }
    scene.pass(60_000)
    #expect(scene.asked == [] && scene.nextDue == nil && scene.counts == .init())
  }

  @Test("rounds are an interval apart, a tenth more or less, and not all the same")
  func jitter() {
    let scene = PollScene { $0.intervalMilliseconds = 10_000 }
    scene.track(1, ["a": 0])
    var pauses: Set<Int64> = []
    for _ in 0..<20 {
      scene.answer([])
      let asked = scene.now
      scene.passToNext()
      pauses.insert(scene.now - asked)
    }
    #expect(pauses.allSatisfy { 4000...11_000 ~= $0 } && pauses.count > 10)
  }

  @Test("a new version goes to those alone who track the key, and to nobody twice")
  func versions() {
    let scene = PollScene { $0.mode = .versioned }
    scene.track(1, ["a": 0])
    scene.track(2, ["a": 0, "b": 0])
    scene.answer([item("a", "x", version: 3)])
    scene.pass(100)
    #expect(scene.looked() == ["1 a=x", "2 a=x"] && scene.asked == ["b:0"])
    scene.answer([item("b", "y", version: 1), item("c", "z", version: 1)])
    #expect(scene.looked() == ["2 b=y"])
    scene.pass(11_000)
    #expect(scene.asked == ["a:3 b:1"])
    // An older version, and one with no data behind it, are nothing new.
    scene.answer([item("a", "old", version: 2), PolledItem(key: "b", version: 2)])
    #expect(scene.looked() == [])
    scene.pass(11_000)
    scene.answer([item("a", "w", version: 4), item("b", "y", version: 1)])
    #expect(scene.looked() == ["1 a=w", "2 a=w"])
  }

  @Test("without versions, data that differs is new, under a number that was never given before")
  func versionless() {
    let scene = PollScene()
    #expect(scene.poll.epoch(of: channel("c"), scene.options) == PollScene.ownEpoch)
    scene.track(1, ["a": 0])
    scene.answer([item("a", "1")])
    scene.pass(11_000)
    scene.answer([item("a", "1")])
    #expect(scene.looked() == ["1 a=1"])
    scene.pass(11_000)
    scene.answer([item("a", "2")])
    #expect(scene.looked() == ["1 a=2"])
    // Forgotten and tracked again by a client that has version 2 of it: what comes then is above that.
    scene.leave(1)
    scene.pass(2000)
    scene.track(1, ["a": 2])
    scene.pass(11_000)
    scene.answer([item("a", "3")])
    #expect(scene.looked() == ["1 a=3"])
  }

  @Test("whoever comes later gets at once what is known, and only what is new to them")
  func cached() {
    let scene = PollScene { $0.mode = .versioned }
    scene.track(1, ["a": 0])
    scene.answer([item("a", "x", version: 3)])
    #expect(scene.looked() == ["1 a=x"])
    #expect(scene.track(2, ["a": 0]) == ["a=x"])
    #expect(scene.track(3, ["a": 3]) == [])
    #expect(scene.track(4, ["a": 2]) == ["a=x"])
    #expect(scene.asked == [])
    scene.pass(11_000)
    scene.answer([item("a", "x", version: 3)])
    #expect(scene.looked() == [])
  }

  @Test("data for which there is no room is asked for once more, as if nothing were known")
  func noRoom() {
    var limits = PollScene.limits
    limits.dataBytes = 0
    let scene = PollScene(limits) { $0.mode = .versioned }
    scene.track(1, ["a": 0])
    scene.answer([item("a", "x", version: 3)])
    #expect(scene.looked() == ["1 a=x"] && scene.counts.dataBytes == 0)
    #expect(scene.track(2, ["a": 0]) == [])
    scene.pass(100)
    #expect(scene.asked == ["a:0"])
    // A replica of the backend that is behind has nothing of what is owed.
    scene.answer([item("a", "old", version: 2)])
    #expect(scene.looked() == [])
    scene.pass(11_000)
    #expect(scene.asked == ["a:0"])
    scene.answer([item("a", "x", version: 3)])
    #expect(scene.looked() == ["2 a=x"])
  }

  @Test("what does not fit into one answer follows, though the backend has nothing to say of it")
  func longAnswer() {
    var limits = PollScene.limits
    limits.answerBytes = 3
    let scene = PollScene(limits) { $0.mode = .versioned }
    scene.track(1, ["a": 0, "b": 0])
    scene.answer([item("a", "xx", version: 3), item("b", "yy", version: 3)])
    #expect(scene.looked() == ["1 a=xx", "1 b=yy"])
    let first = scene.track(2, ["a": 0, "b": 0])
    #expect(first.count == 1)
    scene.pass(100)
    #expect(scene.asked.count == 1)
    scene.answer([])
    #expect(scene.looked() == (first == ["a=xx"] ? ["2 b=yy"] : ["2 a=xx"]))
  }

  @Test("a key that the backend has no more is told to all who track it, and forgotten")
  func removed() {
    let scene = PollScene()
    scene.track(1, ["a": 0, "b": 0])
    scene.track(2, ["a": 0])
    scene.answer([item("a", "1"), item("b", "1")])
    #expect(scene.looked() == ["1 a=1", "1 b=1", "2 a=1"])
    scene.pass(11_000)
    scene.answer([PolledItem(key: "a", removed: true)])
    #expect(scene.looked() == ["1 a gone", "2 a gone"])
    scene.pass(11_000)
    #expect(scene.asked == ["b"] && scene.counts.keys == 1 && scene.counts.trackings == 1)
  }

  @Test("a round asks for every key once, in calls of so many, one after another over the interval")
  func batches() {
    let scene = PollScene {
      $0.batchSize = 10
      $0.intervalMilliseconds = 10_000
    }
    let keys = Set((0..<25).map { "k\($0)" })
    scene.track(1, Dictionary(uniqueKeysWithValues: keys.map { ($0, 5) }))
    #expect(scene.asked == [])
    var asked: [String] = []
    var times: [Int64] = []
    for _ in 0..<3 {
      scene.passToNext()
      #expect(scene.asked.count == 1)
      asked += scene.asked[0].split(separator: " ").map(String.init)
      times.append(scene.now)
      scene.pass(0)
      #expect(scene.asked.count == 1, "one call at a time")
      scene.answer([])
    }
    #expect(asked.count == 25 && Set(asked) == keys)
    #expect(times[1] - times[0] == 3333 && times[2] - times[1] == 3333)
  }

  @Test("clients that track and untrack have a channel asked for each tenth of a second at most")
  func hurried() {
    let scene = PollScene()
    var calls = 0
    for _ in 0..<1000 {
      scene.track(1, ["a": 0])
      while !scene.asked.isEmpty {
        calls += 1
        scene.answer([item("a", "1")])
      }
      scene.leave(1)
      scene.pass(1)
    }
    #expect(calls <= 11)
  }

  @Test("a call whose channel was left meanwhile says nothing to those who came since")
  func late() {
    let scene = PollScene { $0.mode = .versioned }
    scene.track(1, ["a": 0])
    scene.leave(1)
    scene.pass(5000)
    #expect(scene.counts.channels == 1, "while it is asked for, it stays: it would be asked for twice at a time")
    scene.answer([item("a", "x", version: 1)])
    #expect(scene.counts == .init() && scene.looked() == [])
  }

  // MARK: Failures

  @Test("after failures the rests grow, up to a minute, and end with the first answer")
  func backOff() {
    let scene = PollScene { $0.intervalMilliseconds = 1000 }
    scene.track(1, ["a": 0])
    var rests: [Int64] = []
    for _ in 0..<9 {
      scene.fail()
      let failed = scene.now
      // Somebody else's new key does not wake a backend that fails.
      scene.track(2, ["b": 0])
      scene.passToNext()
      rests.append((scene.now - failed) / 100)
      #expect(scene.asked == ["a b"])
    }
    for (rest, expected) in zip(rests, [10, 20, 40, 80, 160, 320, 600, 600, 600]) {
      #expect(Int64(expected)...Int64(expected + expected / 10) ~= rest)
    }
    scene.answer([item("a", "1")])
    #expect(scene.looked() == ["1 a=1"])
    scene.pass(1100)
    #expect(scene.asked == ["a b"])
  }

  // MARK: Limits

  @Test("keys of a subscription and of a channel, and trackings of the gateway have limits; refusals change nothing")
  func limits() {
    var limits = PollScene.limits
    limits.trackings = 6
    let scene = PollScene(limits) {
      $0.keysPerClient = 3
      $0.keysPerChannel = 4
    }
    #expect(scene.track(1, ["a": 0, "b": 0, "c": 0, "d": 0]) == ["error 106"])
    #expect(scene.counts == .init() && scene.nextDue == nil)
    #expect(scene.track(1, ["a": 0, "b": 0, "c": 0]) == [])
    #expect(scene.track(1, ["d": 0]) == ["error 106"])
    // What is untracked in the same step makes room, and what is tracked already needs none.
    #expect(scene.track(1, ["a": 0, "d": 0], untracking: ["c"]) == [])
    #expect(scene.track(2, ["e": 0, "f": 0]) == ["error 106"])
    #expect(scene.track(2, ["a": 0, "b": 0, "d": 0]) == [])
    #expect(scene.counts.trackings == 6)
    #expect(scene.track(3, ["a": 0]) == ["error 106"])
    scene.untrack(2, ["a", "never"])
    #expect(scene.track(3, ["a": 0]) == [])
    #expect(scene.counts.trackings == 6 && scene.counts.keys == 3)
  }

  @Test("so many calls are under way as may be; other channels wait in line")
  func callLimit() {
    var limits = PollScene.limits
    limits.calls = 2
    let scene = PollScene(limits)
    for name in ["p", "q", "r", "s"] { scene.track(1, [name: 0], on: name) }
    #expect(scene.asked == ["p", "q"])
    scene.leave(1, "r")
    scene.answer([])
    #expect(scene.asked == ["q", "s"])
    scene.fail()
    #expect(scene.asked == ["s"])
  }

  @Test("keys whose signature has expired go after the grace, unless they are signed anew")
  func expiry() {
    let scene = PollScene()
    scene.track(1, ["a": 0, "b": 0], expiresAt: scene.wall + 60)
    scene.answer([])
    scene.track(1, ["b": 0], expiresAt: scene.wall + 600)
    scene.pass(80_000)
    #expect(scene.asked == ["a b"])
    scene.answer([])
    scene.pass(11_000)
    #expect(scene.asked == ["b"] && scene.counts.trackings == 1)
  }

  @Test("two keys that differ in bytes alone are two keys")
  func bytes() {
    let scene = PollScene()
    scene.track(1, ["e\u{301}": 0])
    scene.answer([item("\u{e9}", "1")])
    #expect(scene.looked() == [])
    scene.pass(11_000)
    scene.answer([item("e\u{301}", "1")])
    #expect(scene.looked().count == 1)
  }

  // MARK: Epochs

  @Test("a new epoch has everybody subscribe anew, once, and their versions count from there")
  func epochs() {
    let scene = PollScene { $0.mode = .versioned }
    scene.track(1, ["a": 0])
    scene.answer([item("a", "x", version: 9)], epoch: "one")
    #expect(scene.looked() == ["1 restart"] && scene.counts.trackings == 0)
    // It is remembered for those who come back.
    #expect(scene.track(1, ["a": 0], epoch: "") == ["other epoch"])
    #expect(scene.poll.epoch(of: channel("c"), scene.options) == "one")
    scene.track(1, ["a": 0])
    scene.pass(100)
    scene.answer([item("a", "x", version: 9)], epoch: "one")
    #expect(scene.looked() == ["1 a=x"])
    scene.pass(11_000)
    scene.answer([item("a", "y", version: 1)], epoch: "two")
    #expect(scene.looked() == ["1 restart"])
    scene.track(1, ["a": 0])
    scene.pass(100)
    scene.answer([item("a", "y", version: 1)], epoch: "two")
    #expect(scene.looked() == ["1 a=y"])
    scene.leave(1)
    scene.pass(SharedPoll.epochLinger)
    #expect(scene.counts == .init() && scene.nextDue == nil)
  }
}
