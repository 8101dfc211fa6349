import Wire

/// Commands that were read and cannot be begun yet, first in, first out.
///
/// Bounded by what one message from a client may hold: while commands wait, its socket is not read.
struct WaitingCommands {
  private var commands: [ClientCommand] = []
  /// So many of them were begun.
  private var begun = 0

  var isEmpty: Bool { begun == commands.count }
  var first: ClientCommand? { isEmpty ? nil : commands[begun] }

  mutating func append(_ command: ClientCommand) { commands.append(command) }

  mutating func removeFirst() {
    begun += 1
    if begun >= commands.count {
      commands = []
      begun = 0
    } else if begun >= 64 && begun * 2 > commands.count {
      commands.removeFirst(begun)
      begun = 0
    }
  }
}
