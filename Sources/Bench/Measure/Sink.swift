/// Where a dialect puts what it read for one connection. Filled by the event loop with the connection's ledger.
struct Sink {
  private(set) var confirmed = 0
  private(set) var acknowledged = 0
  private(set) var refused = 0

  /// One publication's content, from its ``Marker`` on (a quotation mark before it is skipped by the dialect).
  mutating func deliver(_ content: UnsafeRawBufferPointer) {}

  mutating func confirm() { confirmed += 1 }

  mutating func acknowledge(refused isRefused: Bool) {
    acknowledged += 1
    if isRefused { refused += 1 }
  }
}
