public import Wire

/// What the broker asks this gateway about its clients.
extension GatewayLink {
  /// Most surveys under way at a time. The broker asks no more than that, unless it has given up waiting for answers.
  static let mostSurveys = 16

  func ask(_ survey: LinkSurvey, into effects: inout [GatewayLinkEffect]) {
    // A survey that is dropped has the broker say that this gateway did not answer.
    guard surveysUnderWay < Self.mostSurveys else { return }
    surveysUnderWay += 1
    effects.append(.survey(survey, session: session))
  }

  /// Every event loop has told what it found. Comes once for each ``GatewayLinkEffect/survey(_:session:)``.
  ///
  /// - Parameter session: in which the broker asked. In another one it has asked again what it still wants to know.
  public func found(
    _ findings: LinkFindings, session asked: UInt64, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    surveysUnderWay -= 1
    guard asked == session, isOpen else { return }
    send(.findings(findings), at: now, into: &effects)
  }
}
