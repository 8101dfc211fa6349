public import Wire

/// What an operator is told of who was refused because of a limit.
extension BrokerCore {
  func note(_ cause: RefusalCause, from source: String) {
    if let line = refusals.note(cause, from: source) { refusalLines.append(line) }
  }

  /// What is to be logged now.
  ///
  /// - Parameter isMinuteOver: also what was summed up since the last time that it was.
  public func takeRefusals(isMinuteOver: Bool) -> [RefusalLedger.Line] {
    if isMinuteOver { refusalLines += refusals.drain() }
    defer { refusalLines = [] }
    return refusalLines
  }
}

extension RefusalCause {
  static let appCalls = RefusalCause(
    "app_calls", "calls were refused because their user had reached a limit of the app (docs/STATE.md, docs/CLIQUE.md)")
}
