/// How often one person may do something: so many times a day, and a quarter of them at once.
///
/// One number is kept of each person, the mark: the moment at which all that they did will be paid for, if nothing is
/// added (the generic cell rate algorithm). The mark goes up by an interval each time, may lie as far ahead as a
/// quarter of a day's number takes, and means nothing once it has passed. The clock is the wall clock, since marks
/// outlive the server.
struct CliqueRate {
  let perDay: Int

  private var interval: Int64 { max(1, CliqueRules.day / Int64(max(1, perDay))) }

  /// Counts one more time.
  ///
  /// - Returns: the next mark; nil: it would be too often.
  func next(after mark: Int64?, now: Int64) -> Int64? {
    let latest = now + interval * Int64(max(1, perDay / 4))
    let mark = mark ?? 0
    // A mark beyond the latest was made before the clock was set back: it must not hold anybody for so long.
    let next = (mark > latest ? now : max(mark, now)) + interval
    return next <= latest ? next : nil
  }
}
