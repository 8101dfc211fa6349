import Testing

@testable import Gateway

@Suite("What a link is told of its connection to a broker")
struct BrokerConnectionTests {
  /// The states after the events, and what was told.
  private func told(_ events: BrokerConnection.Event...) -> (BrokerConnection, [BrokerConnection.News]) {
    var connection = BrokerConnection.away
    let news = events.flatMap { connection.note($0) }
    return (connection, news)
  }

  @Test("A connection that ends is told to be lost when the rest is read, however often the socket is read before")
  func rest() {
    #expect(told(.came, .readToEnd, .readToEnd) == (.there, [.appeared]))
    #expect(told(.came, .readToEnd, .ended) == (.rest, [.appeared]))
    #expect(told(.came, .readToEnd, .ended, .readToEnd) == (.away, [.appeared, .vanished]))
    #expect(told(.came, .ended, .readToEnd, .readToEnd) == (.away, [.appeared, .vanished]))
  }

  @Test("Where the next connection is there before the rest is read, the loss is told first, and then the connection")
  func next() {
    #expect(told(.came, .ended, .came) == (.restBeforeNext, [.appeared]))
    #expect(told(.came, .ended, .came, .readToEnd) == (.there, [.appeared, .vanished, .appeared]))
    #expect(told(.came, .ended, .came, .ended, .readToEnd) == (.away, [.appeared, .vanished]))
  }

  @Test("A connection that does not come about ends without having been there")
  func failed() {
    #expect(told(.ended, .readToEnd) == (.away, []))
    #expect(told(.came, .ended, .ended, .readToEnd, .ended) == (.away, [.appeared, .vanished]))
  }

  @Test("Where the news of an end is lost, the next connection shows that there was one")
  func endMissed() {
    #expect(told(.came, .came, .readToEnd) == (.there, [.appeared, .vanished, .appeared]))
    #expect(told(.came, .came, .came, .readToEnd) == (.there, [.appeared, .vanished, .appeared]))
  }

  @Test("Whatever happens, losses and connections are told in turn, and a loss only by a read that found nothing")
  func inTurn() {
    for first in BrokerConnection.allCases {
      for event in BrokerConnection.Event.allCases {
        var connection = first
        let news = connection.note(event)
        #expect(!news.contains(.vanished) || first.hasRest && event == .readToEnd)
        // As far as the link knows there is a connection in all states but one.
        var isThere = first != .away
        for one in news {
          #expect((one == .appeared) != isThere)
          isThere = one == .appeared
        }
        #expect(isThere == (connection != .away))
        #expect(event != .readToEnd || !connection.hasRest, "the loop reads no socket that is empty")
      }
    }
  }
}
