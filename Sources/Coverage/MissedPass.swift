import Wire

/// One pass over the file of intervals, which carries out deletions that this gateway has missed. ``CoverageStore`` takes
/// its steps between others that wait for the file, so that a large file holds up no record and no question.
///
/// States:
/// - looking: rows are looked through in the order of an index, some with each step, and those that go are deleted. Can
///   transition to: looking (there are more), overwriting (through).
/// - overwriting: copies of the rows in the write-ahead log are cut away. Can transition to: marking.
/// - marking: the mark is written. Can transition to: done.
/// - done: nothing of the users is in the file, and the mark says so. Final.
///
/// A step that fails is taken again from the same state. A process that ends before the mark is written is told the
/// same deletions anew.
struct MissedPass {
  enum State: Equatable {
    case looking(after: CoverageFile.RowPlace)
    case overwriting
    case marking
    case done
  }

  let deletions: LinkDeletions
  private(set) var state: State
  private var users: MissedUsers

  init(_ deletions: LinkDeletions) {
    self.deletions = deletions
    users = MissedUsers(deletions)
    state = users.isEmpty ? .marking : .looking(after: .start)
  }

  var isDone: Bool { state == .done }

  mutating func step(_ file: CoverageFile) throws {
    switch state {
    case .looking(let place): state = try file.forget(&users, after: place).map { .looking(after: $0) } ?? .overwriting
    case .overwriting:
      try file.overwrite()
      state = .marking
    case .marking:
      try file.note(deletions)
      state = .done
    case .done: break
    }
  }
}
