/// What is remembered of somebody who has taken a request back, so that requests which are taken back and repeated count
/// as one. It is of one side alone, and a function of what that side did: whoever was declined or blocked meanwhile has
/// the same as one who was not answered.
///
/// The table, of one side. *n* messages of its requests are remembered, until the time at which the last request that was
/// taken back would have ended by itself.
///
///     remembered   a request begins         a message waits           the request is taken back   it is opened   time
///     nothing      counts for the day       of so many in a request   those that waited           =              =
///     n messages   goes on, counts nothing  of so many less n         n and those that waited     nothing        nothing
///
/// Where the request ends because nobody answered, its last message, and so what is remembered from before, is past too.
struct CliqueTakenBack: Codable, Sendable, Hashable {
  var messages: Int
  /// Milliseconds since 1970.
  var ends: Int64

  /// What is remembered after a request was taken back.
  ///
  /// - Parameters:
  ///   - before: what was remembered until then; nil: nothing.
  ///   - waited: how many messages waited in the request.
  ///   - requestEnds: when it would have ended.
  static func after(_ before: Self?, waited: Int, requestEnds: Int64) -> Self {
    Self(messages: (before?.messages ?? 0) + waited, ends: max(before?.ends ?? 0, requestEnds))
  }
}

extension Clique.Mark {
  mutating func advanceTakenBack(to now: Int64) {
    if let ends = takenBack?.ends, ends <= now { takenBack = nil }
  }
}
