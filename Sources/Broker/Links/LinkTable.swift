/// The links by gateway. Gateways are few, and a link is looked up several times for each message: comparing a handful
/// of numbers is cheaper than hashing one.
struct LinkTable {
  /// With more gateways than this, the dictionary is used instead.
  static let scanLimit = 16

  private var gateways: [UInt64] = []
  private var links: [PeerLink] = []
  /// The index of each gateway in the two arrays.
  private var places: [UInt64: Int] = [:]

  var isEmpty: Bool { links.isEmpty }
  var count: Int { links.count }

  /// All links by gateway number, so that a simulation with the same seed runs the same way.
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
