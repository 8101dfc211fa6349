public import Wire

/// How a map channel is to be read.
public struct MapOptions: Sendable {
  /// The namespace's `map_order`, in which the view stands; keys of equal scores stand in the order of their bytes.
  public var order: MapOrder
  /// Turns the order around.
  public var reversed: Bool
  /// What the server is to send, by tags; nil: everything.
  public var filter: TagFilter?
  /// Entries that come in one page; 0: as many as the server likes.
  public var pageSize: Int32
  /// A map of more entries ends its subscription with ``LocalCode/mapTooLarge``.
  public var maximumEntries: Int
  /// Subscription token, for channels that need one.
  public var token: String
  /// Gives the subscription token, at first and whenever it has expired.
  public var tokenProvider: (@Sendable () async throws -> String)?

  /// All of it may be left out.
  public init(
    order: MapOrder = .key, reversed: Bool = false, filter: TagFilter? = nil, pageSize: Int32 = 0,
    maximumEntries: Int = 100_000, token: String = "", tokenProvider: (@Sendable () async throws -> String)? = nil
  ) {
    self.order = order
    self.reversed = reversed
    self.filter = filter
    self.pageSize = pageSize
    self.maximumEntries = maximumEntries
    self.token = token
    self.tokenProvider = tokenProvider
  }
}

/// A subscription to a map channel, which keeps what the channel holds in step with the server: read whole, then
/// changed by change, and after a lost connection by what was missed, or read anew.
///
/// It stays when this value is dropped, until ``unsubscribe()`` or its end. Nothing queues up for a reader that is
/// late: it is given what there is when it looks, so that memory is what the map takes.
public struct MapSubscription<Value: Decodable & Sendable>: Sendable {
  let id: SubscriptionID
  /// The channel's name.
  public let channel: String
  let client: RealtimeClient
  let box: MapBox<Value>

  /// What the map holds now.
  public var view: MapView<Value> { box.view }

  /// What the map holds, at once and after each change; several changes may come as one. Ends after the view whose
  /// state is ``MapState/ended(_:)``. Any number of readers.
  public var views: MapViews<Value> { MapViews(box: box) }

  /// The differences between ``views``, beginning with all entries that there are. Any number of readers.
  public var changes: MapChanges<Value> { MapChanges(views: views) }

  /// Waits until the map is in step with the server.
  ///
  /// - Throws: ``RealtimeError/unsubscribed(_:)`` where the subscription ends before.
  public func ready() async throws(RealtimeError) {
    for await view in views {
      if view.state == .live { return }
      if case .ended(let code) = view.state { throw .unsubscribed(code) }
    }
    throw .cancelled
  }

  /// Ends the subscription.
  public func unsubscribe() async { await client.unsubscribe(id) }

  /// Removes a key. Removing one that is not there is no error.
  public func remove(_ key: String) async throws(RealtimeError) { try await client.removeEntry(key, of: channel) }
}

extension MapSubscription where Value: Encodable {
  /// Writes a key.
  ///
  /// - Parameter score: where it stands in a map that is ordered by score; nil: as the server says.
  public func set(_ key: String, to value: Value, score: Int64? = nil) async throws(RealtimeError) {
    try await client.setEntry(key, of: channel, to: value, score: score)
  }
}

/// The views of a map, newest only.
public struct MapViews<Value: Decodable & Sendable>: AsyncSequence, Sendable {
  let box: MapBox<Value>

  /// Begins with the view at hand.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(box) }

  /// One reader.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let box: MapBox<Value>
    private var ticks: AsyncStream<Void>.Iterator
    private var hasEnded = false

    fileprivate init(_ box: MapBox<Value>) {
      self.box = box
      ticks = box.watch().makeAsyncIterator()
    }

    /// The view after the next change; nil after the last, or where the task was cancelled.
    public mutating func next() async -> MapView<Value>? { await next(isolation: nil) }

    /// See ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> MapView<Value>? {
      if hasEnded { return nil }
      guard await ticks.next(isolation: actor) != nil else { return nil }
      let view = box.view
      if case .ended = view.state { hasEnded = true }
      return view
    }
  }
}

/// The differences between the views of a map.
public struct MapChanges<Value: Decodable & Sendable>: AsyncSequence, Sendable {
  let views: MapViews<Value>

  /// Begins with all entries that there are.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(views: views.makeAsyncIterator()) }

  /// One reader.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var views: MapViews<Value>.AsyncIterator
    private var last: MapView<Value>?
    private var waiting: ArraySlice<MapChange<Value>> = []

    init(views: MapViews<Value>.AsyncIterator) { self.views = views }

    /// The next difference; nil after the last.
    public mutating func next() async -> MapChange<Value>? { await next(isolation: nil) }

    /// See ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> MapChange<Value>? {
      while waiting.isEmpty {
        guard let view = await views.next(isolation: actor) else { return nil }
        waiting = view.changes(since: last)[...]
        last = view
      }
      return waiting.popFirst()
    }
  }
}
