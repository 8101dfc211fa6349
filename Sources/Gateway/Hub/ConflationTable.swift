import Wire
struct ConflationKey: Hashable, Sendable {
  static let channel = ConflationKey()
  init() {}
  init(_ p: Publication) {}
  init(member: ClientInfo) {}
}
struct ConflationTable {
  let limitBytes: Int
  var version: UInt64 = 0
  var f: [(UInt64, [UInt8])] = []
  init(limitBytes: Int) { self.limitBytes = limitBytes }
  mutating func put(_ k: ConflationKey, _ frame: [UInt8]) { version += 1; f = [(version, frame)] }
  func newest(after v: UInt64) -> [UInt8] { f.filter { $0.0 > v }.flatMap { $0.1 } }
  mutating func removeAll() { f = [] }
}
