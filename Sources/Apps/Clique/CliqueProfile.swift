import Wire

/// What somebody has said about themselves, and what of it another person sees.
///
/// Two tables. The first says how much a reader sees of somebody, by what the reader's own lists show: so it tells
/// nothing that these do not. The first row that holds counts.
///
///     what the reader sees otherwise                        of the profile
///     oneself                                               all, as it is now
///     the reader blocks the other                           nothing; the name as it was stands in the list of blocked people
///     a conversation, open or ended by the other            all
///     a request of the other                                all
///     a member of a group of the reader's                   all
///     a crossing                                            all, until the crossing passes
///     a request of the reader's own that waits              the name that the reader saw when asking
///     nothing of these                                      nothing
///
/// The second says which version of "all" it is. It is kept for each side of two people (``Clique/Mark/frozen``), and is
/// either *live* or *frozen*: what stood there when the side blocked the other, even if that was nothing.
///
///     side's version    the side blocks   the side changes its profile   the side unblocks           the side answers a
///     for the other     the other         under the block   without one                              request of the other
///     live              frozen            –                 live         –                           live
///     frozen            frozen, the same  frozen            live         live, if nothing differs;   live
///                                                                        else frozen, the same
///
/// So the end of a block changes nothing for whoever was blocked, and what the other did under it shows only with
/// something that they do afterwards, as with changes of messages.
enum ProfileSight: Sendable, Hashable, CaseIterable {
  case nothing
  /// The name as it was.
  case name
  case all
  /// As ``all``, as long as the crossing is shown.
  case whileCrossed

  /// One row of the first table.
  ///
  /// - Parameters:
  ///   - sight: what the reader sees of what stands between the two.
  static func of(isSelf: Bool, _ sight: PairState.Sight, sharesGroup: Bool, hasCrossed: Bool) -> Self {
    if isSelf { return .all }
    switch sight {
    case .blocked: return .nothing
    case .active, .ended, .asked: return .all
    case .asking, .nothing:
      if sharesGroup { return .all }
      if hasCrossed { return .whileCrossed }
      return sight == .asking ? .name : .nothing
    }
  }
}

extension Clique {
  /// What a profile shows.
  struct ProfileContent: Codable, Sendable, Equatable {
    var name = ""
    /// By the names that the configuration gives (``CliqueRules/profileFields``). No value is empty.
    var fields: [String: String] = [:]
    var picture: ProfilePicture?

    var isEmpty: Bool { self == ProfileContent() }

    /// The content as JSON, without its braces.
    ///
    /// - Parameter names: the fields that the configuration names now, in this order. Others are kept and not shown.
    func write(_ names: [String], _ writer: inout JSONWriter) {
      if !name.isEmpty { writer.write("name", name) }
      let shown = names.compactMap { name in fields[name].map { (name, $0) } }
      if !shown.isEmpty {
        writer.object("fields") { writer in for (name, value) in shown { writer.write(named: name, value) } }
      }
      guard let picture else { return }
      writer.object("picture") { writer in
        writer.write("id", picture.id)
        if !picture.small.isEmpty { writer.write("small", picture.small) }
      }
    }
  }

  /// A picture by its ids (``Picture``).
  struct ProfilePicture: Codable, Sendable, Hashable {
    var id: String
    /// Its smaller form; "": there is none.
    var small: String

    var ids: [String] { small.isEmpty ? [id] : [id, small] }
  }

  /// What one person has said about themselves. There is none of somebody who has said nothing.
  struct Profile: AppRecord {
    var user: String
    var content = ProfileContent()
    /// Pictures that the profile shows no more and that people with a frozen version still see, each with the number of
    /// these; nil: none.
    var frozenPictures: [FrozenPicture]?
    /// When the content was changed last, in milliseconds since 1970.
    var changed: Int64 = 0

    var due: Int64? { nil }

    var isBlank: Bool { content.isEmpty && frozenPictures == nil }
  }

  /// How many frozen versions of a profile show a picture.
  struct FrozenPicture: Codable, Sendable, Equatable {
    var picture: ProfilePicture
    var count: Int
  }

  /// What a reader sees of somebody.
  struct SeenProfile: Equatable {
    var content: ProfileContent
    /// When it is seen no more, if nothing happens, in milliseconds since 1970; `Int64.max`: never.
    var expires = Int64.max
  }

  /// Characters of a name, and of another field.
  static let profileNameCharacters = 80
  static let profileFieldCharacters = 100
  /// People who see an older version of one person's profile than others do, without being blocked; the first makes
  /// room, and sees the present one.
  static let maximumBehind = 100
}

extension Clique.Pair {
  /// The version of a side's profile that the other is shown.
  ///
  /// - Parameter live: as the profile is now.
  func version(of side: PairState.Side, live: Clique.ProfileContent) -> Clique.ProfileContent {
    if let frozen = self[mark: side].frozen { return frozen }
    // A block from before there were profiles began when there was nothing to see.
    return state.isBlocked(by: side) ? Clique.ProfileContent() : live
  }
}

extension Clique.Key {
  static func profile(of user: String) -> String { "profile/" + plain(user) }
}
