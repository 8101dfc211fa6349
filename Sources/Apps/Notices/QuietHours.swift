import Foundation
import Wire

/// Hours in which a person is sent nothing, by the person's own clock.
struct QuietHours: Codable, Sendable, Equatable {
  var hours: PushCommand.Quiet
  /// Minutes east of UTC when the hours were set: what holds where the zone's name is not known any more.
  var offset: Int

  private static let minute: Int64 = 60_000
  private static let day: Int64 = 1440

  /// - Throws: error 107 where the machine does not know the zone.
  init(_ hours: PushCommand.Quiet, at now: Int64) throws(ClientError) {
    guard let offset = Self.offset(of: hours.zone, at: now) else {
      throw .badRequest.saying(
        "the server does not know this time zone; give its name such as \"Europe/Vienna\", or minutes east of UTC")
    }
    self.hours = hours
    self.offset = offset
  }

  private static func offset(of zone: PushCommand.Quiet.Zone, at time: Int64) -> Int? {
    switch zone {
    case .minutes(let minutes): return minutes
    case .name(let name):
      return TimeZone(identifier: name).map {
        $0.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time / 1000))) / 60
      }
    }
  }

  /// When the quiet hours end in which a time lies, later than that time; nil: it lies in none. Both in milliseconds
  /// since 1970. Where the zone's clock is changed in between, there is another end at that time, or the next day.
  func end(at time: Int64) -> Int64? {
    let offset = Int64(Self.offset(of: hours.zone, at: time) ?? self.offset)
    let minutes = (time >= 0 ? time / Self.minute : (time - Self.minute + 1) / Self.minute) + offset
    let now = (minutes % Self.day + Self.day) % Self.day
    let (from, to) = (Int64(hours.from), Int64(hours.to))
    let isQuiet = from < to ? from <= now && now < to : from <= now || now < to
    guard isQuiet else { return nil }
    let left = (to - now + Self.day) % Self.day
    return (minutes - offset + left) * Self.minute
  }
}
