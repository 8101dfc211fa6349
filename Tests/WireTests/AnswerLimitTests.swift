import Testing
import Wire

@Suite("Limits of answers")
struct AnswerLimitTests {
  @Test("what may be answered with much can be limited, and nothing else")
  func limits() throws {
    let channel = try ChannelName("a")
    let position = StreamPosition(epoch: "e", offset: 1)
    let read = MapRead(phase: .state)
    let large: [BrokerRequest] = [
      .history(.init(channel: channel, limit: 1)), .presence(channel, viewer: "u"),
      .subscribe(.init(channel: channel, since: position, recoveryLimit: 1)),
      .subscribe(.init(channel: channel, recoveryLimit: 1, map: read)),
      .readMap(.init(channel: channel, read: read)),
    ]
    let small: [BrokerRequest] = [
      .history(.init(channel: channel, limit: 0)), .presenceStats(channel), .subscribe(.init(channel: channel)),
      .publish(.init(channel: channel, data: [1])), .historyRemove(channel), .unread(user: "u", [channel]),
      .unsubscribe(.init(channel: channel, member: nil, keepsInterest: true)),
    ]
    let limit = AnswerLimit(bytes: 9, isTry: true)
    for request in large {
      #expect(request.answerLimit == .most)
      let limited = request.limited(to: limit)
      #expect(limited.answerLimit == limit)
      #expect(limited.limited(to: .most) == request)
    }
    for request in small {
      #expect(request.answerLimit == nil)
      if case .history = request { continue }
      if case .subscribe = request { continue }
      #expect(request.limited(to: limit) == request)
    }
  }
}
