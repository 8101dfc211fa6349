public import Wire

/// What an app does when users' data is deleted: by default nothing, for apps that know no people.
///
/// The broker looks for the users in all that the log keeps, and asks the app about each record that may name one. It
/// looks again until it finds nothing, so that each decision is a small one, and a broker that was killed goes on.
extension App {
  public func channels(of user: String) -> [ChannelName] { [] }

  public func forget(
    _ users: SoughtUsers, in key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? { nil }

  public func standing(
    between user: String, and other: String, _ view: any AppView
  ) throws(ClientError) -> [UInt8] { throw .notAvailable.saying("\(name) keeps nothing between two people") }

  public func names(_ users: SoughtUsers, _ publication: Publication, on channel: ChannelName) -> Bool { false }
}
