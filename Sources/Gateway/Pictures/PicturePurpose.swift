/// For which app a picture is: the path of its requests says so, and its file. An id is of one app alone.
public enum PicturePurpose: Sendable, Equatable, CaseIterable {
  /// Sealed until both have sent; taken as it comes.
  case state
  /// Not sealed, and cleaned (``PictureCleaning``).
  case clique

  var path: String {
    switch self {
    case .state: "/state/pictures"
    case .clique: "/clique/pictures"
    }
  }

  /// The purpose of a request; nil: it is for something else.
  init?(path: Substring) {
    guard let purpose = Self.allCases.first(where: { path == $0.path || path.hasPrefix($0.path + "/") }) else {
      return nil
    }
    self = purpose
  }
}

/// The largest picture of each app; nil: the app takes none here.
struct PictureSizes: Sendable, Equatable {
  var state: Int?
  var clique: Int?

  subscript(purpose: PicturePurpose) -> Int? {
    switch purpose {
    case .state: state
    case .clique: clique
    }
  }
}
