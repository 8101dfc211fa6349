import Metrics

/// What is asked of a store, as its counters name it.
enum StoreCall: String, CaseIterable {
  case put, get, copy, delete, list, versioning
}

/// Counts calls by what became of them, and measures how long they take.
struct ObjectStoreMetrics: Sendable {
  private let done: [StoreCall: Counter]
  private let refused: [StoreCall: Counter]
  private let unavailable: [StoreCall: Counter]
  private let seconds: [StoreCall: Timer]

  init() {
    func counters(_ outcome: String) -> [StoreCall: Counter] {
      Dictionary(
        uniqueKeysWithValues: StoreCall.allCases.map { call in
          (
            call,
            Counter(
              label: "fanfare_picture_store_calls_total", dimensions: [("call", call.rawValue), ("outcome", outcome)])
          )
        })
    }
    (done, refused, unavailable) = (counters("done"), counters("refused"), counters("unavailable"))
    seconds = Dictionary(
      uniqueKeysWithValues: StoreCall.allCases.map { call in
        (call, Timer(label: "fanfare_picture_store_seconds", dimensions: [("call", call.rawValue)]))
      })
  }

  /// - Parameter fault: nil: it is done. That an object is not there is an answer like any other.
  func note(_ call: StoreCall, _ fault: ObjectStoreFault?, after time: Duration) {
    let counters =
      switch fault {
      case nil, .missing, .outside: done
      case .refused, .notAllowed, .invalid: refused
      case .unavailable: unavailable
      }
    counters[call]?.increment()
    seconds[call]?.recordNanoseconds(Int64(time / .nanoseconds(1)))
  }
}
