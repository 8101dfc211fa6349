/// Why a message did not become a request.
struct PreparationFault: Error, Equatable {
  let outcome: PushOutcome

  init(_ outcome: PushOutcome) { self.outcome = outcome }
}

extension PushOutcome {
  static let tooLarge = PushOutcome.tooLarge(
    reason: "data and link leave no room for a text; send less, and let the app ask for the rest")

  /// - Parameter section: of the settings.
  static func unsigned(_ section: String) -> PushOutcome {
    .failed(reason: "the key in \(section) did not sign, or memory is out")
  }
}
