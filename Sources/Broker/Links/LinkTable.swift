/// The links by gateway. Gateways are few, and their links are looked up several times for each message: a look at the
/// numbers of a handful is cheaper than a hash.
struct LinkTable {
  /// From so many on the table is asked.
  static let scanLimit = 16

  private var gateways: [UInt64] = []
  private var links: [PeerLink] = []
  /// Where each gateway stands in the two arrays.
  private var places: [UInt64: Int] = [:]

  var isEmpty: Bool { links.isEmpty }
  var count: Int { links.count }

  /// By number, so that a seed replays to the same end.
  var sorted: [PeerLink] { links.sorted { $0.gateway < $1.gateway } }

  subscript(gateway: UInt64) -> PeerLink? {
    guard let place = place(of: gateway) else { return nil }
    return links[place]
  }

  mutating func add(_ link: PeerLink) {
    if let place = place(of: link.gateway) {
      links[place] = link
      return
    }
    places[link.gateway] = links.count
    gateways.append(link.gateway)
    links.append(link)
  }

  mutating func remove(_ gateway: UInt64) {
    guard let place = places.removeValue(forKey: gateway) else { return }
    let last = links.count - 1
    if place < last {
      gateways[place] = gateways[last]
      links[place] = links[last]
      places[gateways[place]] = place
    }
    gateways.removeLast()
    links.removeLast()
  }

  private func place(of gateway: UInt64) -> Int? {
    guard gateways.count <= Self.scanLimit else { return places[gateway] }
    for index in gateways.indices where gateways[index] == gateway { return index }
    return nil
  }
}
