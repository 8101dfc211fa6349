extension ClientCommand.Subscribe {
  /// The fields of a subscribe about filters, patches and maps. Shared between copies of one subscribe, and never
  /// changed.
  final class Rare: Sendable, Equatable {
    struct Values: Sendable, Equatable {
      var filter: TagFilter?
      var refusal: ClientError?
      var type: Int32 = 0
      var phase: Int32 = 0
      var cursor = ""
      var limit: Int32 = 0
      var asc = false
      var takesPatches = false
    }

    let values: Values

    init(_ values: Values) { self.values = values }

    static func == (a: Rare, b: Rare) -> Bool { a === b || a.values == b.values }
  }

  var values: Rare.Values {
    get { rare?.values ?? .init() }
    set { rare = newValue == .init() ? nil : Rare(newValue) }
  }

  /// The filter that publications must pass to be sent; nil: everything is wanted.
  public var filter: TagFilter? {
    get { rare?.values.filter }
    set { values.filter = newValue }
  }

  /// The error to answer with where the filter makes no sense, so that the request cannot be done, whoever asks. The
  /// connection stays, and ``filter`` means nothing.
  public var refusal: ClientError? {
    get { rare?.values.refusal }
    set { values.refusal = newValue }
  }

  /// The client understands publications that are patches against the one before (``FossilPatch``).
  public var takesPatches: Bool {
    get { rare?.values.takesPatches ?? false }
    set { values.takesPatches = newValue }
  }

  /// Reads the name of a format of patches. One that is not known here is asked for in vain: publications come whole.
  mutating func setDelta(_ format: String) {
    if format.hasSameBytes(as: "fossil") { takesPatches = true }
  }

  /// The kind of channel that the client expects: 0 for a stream, 1 for a map, 2 and 3 for presence as a map, by client
  /// and by user, 4 for a shared poll.
  public var type: Int32 {
    get { rare?.values.type ?? 0 }
    set { values.type = newValue }
  }

  /// The part of a map that is asked for: 0 live publications, 1 the stream of changes, 2 a page of the state.
  public var phase: Int32 {
    get { rare?.values.phase ?? 0 }
    set { values.phase = newValue }
  }

  /// Where the page of a map begins, from the result before; empty: at the beginning.
  public var cursor: String {
    get { rare?.values.cursor ?? "" }
    set { values.cursor = newValue }
  }

  /// Most entries of a page, or changes of the stream; 0: as many as the server likes.
  public var limit: Int32 {
    get { rare?.values.limit ?? 0 }
    set { values.limit = newValue }
  }

  /// The page is to be in ascending order.
  public var asc: Bool {
    get { rare?.values.asc ?? false }
    set { values.asc = newValue }
  }
}
