import Wire

/// What users may ask about their own data by themselves, over their own connection.
public struct AccountRules: Sendable, Equatable {
  public var allowsExport: Bool
  public var allowsDelete: Bool
  /// How often one user begins to look at what is kept, in a day.
  public var exportsPerDay: Int

  public init(allowsExport: Bool = false, allowsDelete: Bool = false, exportsPerDay: Int = 4) {
    self.allowsExport = allowsExport
    self.allowsDelete = allowsDelete
    self.exportsPerDay = exportsPerDay
  }
}

/// Weighs what users ask about their own data. Each page of an export may go through all that the disk holds, so there
/// are few at a time, an export is begun a few times a day, and goes on from its last page only.
///
/// States of one user:
/// - resting: nothing is under way. Can transition to: looking (an export is begun, if the day's number allows; or it
///   goes on from the last page or, where an answer was lost, from the one before).
/// - looking: a page is being made; another request is refused. Can transition to: resting.
///
/// A cursor of the broker holds names of others, so users get the number of a page for it. Nothing of this outlives the
/// process: an export that was under way is begun again.
struct AccountDesk {
  /// Looks of users at their own data that are under way at a time, of ``UserLooks/most``: services have the others.
  static let most = 2
  /// Users that are remembered, for a day after their last export at most.
  static let mostUsers = 10_000
  static let day: Int64 = 86_400_000

  /// A place at which an export can go on.
  private struct Page {
    let number: UInt64
    let cursor: String
  }

  private struct Account {
    /// The moment at which all exports will be paid for (the generic cell rate algorithm), in monotonic milliseconds.
    var mark: Int64 = 0
    /// The last pages that were handed out, the newest last: two at most.
    var pages: [Page] = []
    var isLooking = false
  }

  let rules: AccountRules
  private var accounts: [[UInt8]: Account] = [:]
  private var lastPage: UInt64 = 0
  private var looking = 0
  /// When a full table is gone through next, in monotonic milliseconds.
  private var nextSweep: Int64 = .min

  /// Milliseconds between two looks through a full table: who is refused because it is full must cost little.
  private static let sweepInterval: Int64 = 60_000

  init(_ rules: AccountRules) { self.rules = rules }

  /// A user begins to look, or goes on.
  ///
  /// - Parameters:
  ///   - page: what the answer before named as its cursor; empty: from the beginning.
  ///   - now: monotonic milliseconds.
  /// - Returns: the broker's own cursor.
  mutating func begin(_ user: String, from page: String, at now: Int64) throws(ClientError) -> String {
    guard rules.allowsExport else {
      throw .notAvailable.saying("people export no data by themselves here; the setting is account.allow_export")
    }
    guard looking < Self.most else {
      throw .tooManyRequests.saying("others are being answered who asked for their data; ask again in a moment")
    }
    let key = Array(user.utf8)
    if accounts[key] == nil, accounts.count >= Self.mostUsers { sweep(at: now) }
    guard accounts[key] != nil || accounts.count < Self.mostUsers else {
      throw .tooManyRequests.saying("too many people have asked for their data today; ask again later")
    }
    var account = accounts[key] ?? Account()
    if account.isLooking {
      throw .tooManyRequests.saying("a page of your data is being made already; wait for its answer")
    }
    var cursor = ""
    if page.isEmpty {
      account.mark = try paid(account.mark, at: now)
      account.pages = []
    } else {
      guard let index = account.pages.firstIndex(where: { String($0.number) == page }) else {
        throw .badRequest.saying("this is no cursor of an export under way; begin again without one")
      }
      cursor = account.pages[index].cursor
      account.pages.removeSubrange((index + 1)...)
    }
    account.isLooking = true
    accounts[key] = account
    looking += 1
    return cursor
  }

  /// A look that was begun has ended.
  ///
  /// - Parameter next: the broker's cursor, where there is more.
  /// - Returns: what the user gets for it.
  mutating func end(_ user: String, next: String) -> String {
    let key = Array(user.utf8)
    guard var account = accounts[key], account.isLooking else { return "" }
    account.isLooking = false
    looking -= 1
    defer { accounts[key] = account }
    if next.isEmpty { return "" }
    lastPage += 1
    account.pages = account.pages.suffix(1) + [Page(number: lastPage, cursor: next)]
    return String(lastPage)
  }

  private func paid(_ mark: Int64, at now: Int64) throws(ClientError) -> Int64 {
    let interval = Self.day / Int64(max(1, rules.exportsPerDay))
    let next = max(mark, now) + interval
    guard next <= now + Self.day else {
      throw .tooManyRequests.saying(
        "you have asked for your data as often as you may in a day (account.exports_per_day); ask again tomorrow")
    }
    return next
  }

  /// Forgets users whom nothing is held against.
  private mutating func sweep(at now: Int64) {
    if now < nextSweep { return }
    nextSweep = now + Self.sweepInterval
    accounts = accounts.filter { $0.value.isLooking || $0.value.mark > now }
  }
}
