import Testing
import Wire

@Suite("Sizes of link messages")
struct LinkSizeTests {
  @Test(
    "a publication of any size comes back as it was", arguments: [0, 1, 127, 128, 800, 1_000, 1_024, 1_025, 70_000])
  func sizes(bytes: Int) throws {
    let channel = try ChannelName("chat:é")
    for extra in 0..<40 {
      let publication = Publication(
        offset: .max, time: -1, data: Array(repeating: 0xFE, count: bytes + extra),
        info: ClientInfo(user: "", client: "abcdefghijklmnop", connectionInfo: [1], channelInfo: []),
        tags: ["é": "", "b": String(repeating: "x", count: extra)])
      let message = LinkPublication(channel: channel, publication: publication)
      #expect(try LinkPublication(bytes: message.bytes) == message)
    }
  }

  @Test("names with a control character or bytes that are no UTF-8 anywhere in them are malformed", arguments: 1...40)
  func names(length: Int) throws {
    func request(_ name: [UInt8]) throws -> LinkRequest {
      try LinkRequest(bytes: [1, 1, 0, 0, 0, 5, UInt8(name.count)] + name)
    }
    let name = Array(repeating: UInt8(ascii: "a"), count: length)
    #expect(try request(name).request.channel?.string == String(repeating: "a", count: length))
    for place in 0..<length {
      for byte in [0, 0x1F, 0x7F, 0x80, 0xC3, 0xFF] as [UInt8] {
        var damaged = name
        damaged[place] = byte
        #expect(throws: MalformedMessage.self) { try request(damaged) }
      }
      for byte in [0x20, 0x7E] as [UInt8] {
        var other = name
        other[place] = byte
        #expect(try request(other).request.channel.map { Array($0.string.utf8) } == other)
      }
    }
  }
}
