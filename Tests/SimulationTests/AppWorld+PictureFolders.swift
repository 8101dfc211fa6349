import Gateway
import Wire

@testable import Apps
@testable import Broker

/// Gateways keep pictures on their disks, and delete what nobody can see any more: as they are told, as they are told once
/// more, and as they ask whenever their link comes up.
extension AppWorld {
  /// The connection of what a gateway asks for itself. No phone has it.
  static let folderConnection: UInt64 = 0

  /// The pictures whose files are to be deleted.
  private static func ids(of told: [String]) -> [String] { told }

  func linkOpened(_ gateway: Int) {
    let files = folders[gateway].files.sorted()
    if files.isEmpty { return }
    let command = AppCommand.clique(.picture(.gone(files)))
    let call = BrokerRequest.CallRequest(command, caller: ClientInfo(user: "-", client: ""), isGateways: true)
    request(.call(call), ofGateway: gateway)
  }

  func reconciled(_ response: BrokerResponse, _ gateway: Int) {
    guard !losesReconciliations, case .result(let data) = response,
      let gone = AppOracle.object(data)?["gone"] as? [String]
    else { return }
    coverage.pictures.reconciled += delete(gone, at: gateway)
  }

  func discard(_ told: [String], at gateway: Int) {
    coverage.pictures.deleted += delete(Self.ids(of: told), at: gateway)
  }

  /// - Returns: how many files there were.
  private func delete(_ ids: [String], at gateway: Int) -> Int {
    var count = 0
    for id in ids {
      if let picture = album[id], album.isKept(picture) { fail("\(id) stands, and its file is deleted") }
      folders[gateway].coming.remove(id)
      if folders[gateway].files.remove(id) != nil { count += 1 }
    }
    return count
  }

  // MARK: In the end

  /// Loses what a gateway is told of a picture that is discarded, when nothing else is broken: once so that it asks when
  /// its link is back, and once so that it hears no answer to that, and must be told again.
  func loseTellings() {
    guard hasPictures else { return }
    for isAnswered in [true, false] where violations.isEmpty { loseTelling(isAnswered: isAnswered) }
  }

  private func loseTelling(isAnswered: Bool) {
    let phone = phones[0]
    let gateway = phone.gateway
    let picture = upload(phone, begins: false)
    runUntilQuiet()
    let hasFile = { [self] in folders[gateway].files.contains(picture.id) }
    guard hasFile() else { return fail("\(picture.id) was not taken in, and nothing is broken") }
    losesReconciliations = !isAnswered
    defer { losesReconciliations = false }
    discard(picture, phone)
    runBrokerAlone()
    let isTold = gateways[gateway].toGateway.contains { message in
      if case .discard(let told) = message.body { Self.ids(of: told.pictures).contains(picture.id) } else { false }
    }
    guard isTold else { return fail("no gateway is told to delete \(picture.id)") }
    gateways[gateway].toGateway = []
    pass(20)
    if isAnswered {
      if hasFile() { fail("a gateway whose link came back keeps \(picture.id)") }
      return
    }
    guard hasFile() else { return fail("\(picture.id) is deleted by a gateway that heard of nothing") }
    clock.jump(BrokerCore.discardInterval)
    pass(20)
    if hasFile() { return fail("a gateway that did not hear of it was not told again to delete \(picture.id)") }
    coverage.pictures.toldAgain += 1
  }

  private func pass(_ count: Int) {
    for _ in 0..<count {
      passTime(300)
      runUntilQuiet()
    }
  }

  /// Lets the broker do all that it was asked; nothing of what it says arrives anywhere.
  private func runBrokerAlone() {
    for _ in 0..<8 {
      for index in gateways.indices {
        let gateway = gateways[index].link.configuration.gateway
        while !gateways[index].toBroker.isEmpty {
          let message = gateways[index].toBroker.removeFirst()
          perform { $0.receive(message, from: gateway, in: &$1) }
        }
      }
      while let broker, broker.isStarting || !broker.stores.room.isEmpty {
        read()
        commit(.max)
      }
      commit(.max)
    }
  }
}
