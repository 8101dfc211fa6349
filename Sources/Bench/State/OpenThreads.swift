import Foundation
import Glibc

/// Very many threads of State that wait for an answer, and what becomes of them.
struct OpenThreads: Sendable {
  let count: Int
  /// Each sends to so many others: as many as may have uploaded pictures at once.
  static let threadsPerUser = StateExchange.unsentPictures / 2

  /// Enough also that no two send to each other.
  var users: Int { max(2 * Self.threadsPerUser + 1, (count + Self.threadsPerUser - 1) / Self.threadsPerUser) }

  /// Sender and receiver, by number.
  func pair(_ thread: Int) -> (sender: Int, receiver: Int) {
    let sender = thread % users
    return (sender, (sender + 1 + thread / users) % users)
  }

  private static func user(_ number: Int) -> String { "user-\(number)" }

  /// Uploads and sends.
  ///
  /// - Parameter lifetime: seconds after which an open thread expires. None may, before all are open.
  /// - Returns: when the last was opened, in milliseconds since 1970.
  func open(port: Int, secret: String, commands: String, lifetime: Double) throws(BenchError) -> Int64 {
    var pictures: [PictureUpload.Picture] = []
    var begins: [ServiceCalls.Request] = []
    var sends: [ServiceCalls.Request] = []
    for thread in 0..<count {
      let (from, to) = pair(thread)
      let (sender, receiver) = (Self.user(from), Self.user(to))
      let (front, rear) = (
        StateExchange.picture(thread, isFront: true), StateExchange.picture(thread, isFront: false)
      )
      pictures.append(.init(user: sender, id: front))
      pictures.append(.init(user: sender, id: rear))
      begins.append(.call("state.begin", as: sender, "{\"to\":\"\(receiver)\"}"))
      sends.append(
        .call(
          "state.send", as: sender, "{\"to\":\"\(receiver)\",\"front\":\"\(front)\",\"rear\":\"\(rear)\"}"))
    }
    try PictureUpload.upload(pictures, toPort: port, secret: secret)
    try ServiceCalls.make(begins, at: commands)
    let begin = WallTime.now()
    try ServiceCalls.make(sends, at: commands)
    let end = WallTime.now()
    guard Double(end - begin) < lifetime * 1000 else {
      throw BenchError(
        "\(count) threads took \((end - begin) / 1000) s to open, and the first had expired by then; use a faster disk, "
          + "or nothing else at the same time")
    }
    return end
  }

  // MARK: Afterwards

  private struct History: Decodable {
    struct Publication: Decodable {
      struct Notice: Decodable { var event: String }
      var data: Notice
      /// Milliseconds since 1970.
      var time: Int64
    }
    var publications: [Publication]
  }

  /// When each thread expired, in milliseconds since 1970, as both of its people were told.
  func expiries(commands: String) throws(BenchError) -> [Int64] {
    let requests = (0..<users).map { user in
      ServiceCalls.Request(
        method: "history", parameters: "{\"channel\":\"state.events:\(Self.user(user))\",\"limit\":100}")
    }
    var times: [Int64] = []
    var unreadable = 0
    try ServiceCalls.make(requests, at: commands) { _, result in
      guard let history = try? JSONDecoder().decode(History.self, from: Data(result)) else { return unreadable += 1 }
      times += history.publications.lazy.filter { $0.data.event == "expired" }.map(\.time)
    }
    guard unreadable == 0 else { throw BenchError("\(unreadable) answers of the server are no histories of State") }
    times.sort()
    // Two tell of each thread.
    return stride(from: 0, to: times.count, by: 2).map { times[$0] }
  }

  /// Waits until all have expired.
  ///
  /// - Parameters:
  ///   - started: when the server took connections, in milliseconds since 1970.
  ///   - measured: the same clock.
  /// - Returns: in how much time they did, as a sentence.
  func conclude(
    commands: String, started: Int64, measured: ClosedRange<Int64>, seconds: Double = 120
  ) throws(BenchError) -> [String] {
    let deadline = MonotonicTime.now() + UInt64(seconds * 1e9)
    var times = try expiries(commands: commands)
    while times.count < count {
      guard MonotonicTime.now() < deadline else {
        throw BenchError("only \(times.count) of \(count) threads had expired \(Int(seconds)) s after the measurement")
      }
      usleep(200_000)
      times = try expiries(commands: commands)
    }
    guard times.count == count, let last = times.last else {
      throw BenchError("\(times.count) threads have expired, and only \(count) were open")
    }
    let within = times.count { measured.contains($0) }
    return [
      String(
        format: "all %d threads had expired %.1f s after the start, %d of them while it was measured", count,
        Double(max(0, last - started)) / 1000, within)
    ]
  }
}

/// CLOCK_REALTIME in milliseconds, as servers write times.
enum WallTime {
  static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Of a time of CLOCK_MONOTONIC in nanoseconds.
  static func of(_ monotonic: UInt64) -> Int64 {
    now() + (Int64(clamping: monotonic) - Int64(clamping: MonotonicTime.now())) / 1_000_000
  }
}
