/// placeholder until merged
public enum Lane: UInt8, Comparable, CaseIterable, Sendable {
  case publications, receipts, typing
  public static func < (a: Lane, b: Lane) -> Bool { a.rawValue < b.rawValue }
}
