import Wire

@testable import FanfareClient

/// What a server sends that the client in Swift is connected to.
enum ClientTargets {
  static func replies(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let replies = try? ReplyDecoder.decode(input) else { return false }
    let again = try? ReplyDecoder.decode(ClientCodec.encode(replies, format: .protobuf))
    try require(
      again?.count == replies.count, "\(replies.count) replies are \(again?.count ?? 0) when they are written again")
    return !replies.isEmpty
  }
}
