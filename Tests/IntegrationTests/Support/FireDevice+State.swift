import Foundation
import Testing

/// What somebody sends in State: two pictures and a caption, each unlike any other.
struct FireState {
  let front: PictureClient.Picture
  let rear: PictureClient.Picture
  let caption: String

  /// What nobody else is to be sent before they have sent theirs.
  var secrets: [String] { [front.id, rear.id, caption] }

  /// What a send was answered with.
  struct Sent {
    var phase: String
    var since: Int
    var until: Int
  }
}

extension FireDevice {
  /// Opens a recorder, and uploads what was recorded.
  func record(for other: String, pixels count: Int) async throws -> FireState {
    let pictures = [PictureClient.Picture(bytes: count), PictureClient.Picture(bytes: 2_000)]
    try await call("state.begin", #"{"to":"\#(other)"}"#)
    for picture in pictures { try await upload(picture, to: "state") }
    return FireState(front: pictures[0], rear: pictures[1], caption: "caption of \(String(pictures[0].id.reversed()))")
  }

  /// - Returns: nil where nobody knows whether it was sent: it was refused when it was asked again, since the exchange
  ///   was over by then.
  func send(_ state: FireState, to other: String) async throws -> FireState.Sent? {
    let answer = try await callOnce(
      "state.send",
      #"{"to":"\#(other)","front":"\#(state.front.id)","rear":"\#(state.rear.id)","#
        + #""caption":"\#(state.caption)","key":"\#(state.front.id)"}"#)
    guard let data = answer?.data else { return nil }
    return FireState.Sent(
      phase: try #require(data["phase"].string), since: try #require(data["since"].int),
      until: try #require(data["until"].int))
  }
}
