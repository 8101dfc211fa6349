import Gateway
import Wire

@testable import Apps
@testable import Broker

/// Gateways keep pictures on their disks, and delete what nobody can see any more: as they are told, as they are told once
/// more, and as they ask whenever their link comes up.
extension AppWorld {
  /// The connection of what a gateway asks for itself. No phone has it.
  static let folderConnection: UInt64 = 0

  func linkOpened(_ gateway: Int) {
    let files = folders[gateway].files.union(folders[gateway].kept).sorted()
    if files.isEmpty { return }
    let command = AppCommand.clique(.picture(.gone(files)))
    let call = BrokerRequest.CallRequest(command, caller: ClientInfo(user: "-", client: ""), isGateways: true)
    folders[gateway].asked[request(.call(call), ofGateway: gateway)] = folders[gateway].kept
  }

  func reconciled(_ response: BrokerResponse, to tag: UInt64, _ gateway: Int) {
    let asked = folders[gateway].asked.removeValue(forKey: tag) ?? []
    guard !losesReconciliations, case .result(let data) = response,
      let object = AppOracle.object(data), let gone = object["gone"] as? [String]
    else { return }
    let kept = (object["kept"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    let fates = gone.map { id in PictureFate(id: id, isGone: true, kept: kept.contains(id) ? [Array(id.utf8)] : []) }
    coverage.pictures.reconciled += decide(fates, at: gateway)
    for id in asked where !kept.contains(id) { folders[gateway].kept.remove(id) }
  }

  func discard(_ told: [PictureFate], at gateway: Int) { coverage.pictures.deleted += decide(told, at: gateway) }

  /// Each id has one upload, which is called like it.
  ///
  /// - Returns: how many files there were under ids that are gone.
  private func decide(_ fates: [PictureFate], at gateway: Int) -> Int {
    var count = 0
    for fate in fates {
      if !fate.released.isEmpty { folders[gateway].kept.remove(fate.id) }
      guard fate.isGone else { continue }
      if let picture = album[fate.id], album.isKept(picture) { fail("\(fate.id) stands, and its file is deleted") }
      folders[gateway].coming.remove(fate.id)
      guard folders[gateway].files.remove(fate.id) != nil else { continue }
      count += 1
      if !fate.kept.isEmpty { folders[gateway].kept.insert(fate.id) }
    }
    return count
  }

  // MARK: In the end

  /// Loses what a gateway is told of a picture that is discarded, when nothing else is broken: once so that it asks when
  /// its link is back, and once so that it hears no answer to that, and must be told again.
  func loseTellings() {
    guard hasPictures else { return }
    for isAnswered in [true, false] where violations.isEmpty { loseTelling(isAnswered: isAnswered) }
    replaceProfilePicture()
  }

  /// The picture that a profile showed goes with the next one, at the latest when nobody sees it any more.
  private func replaceProfilePicture() {
    let phone = phones[0]
    album.isQuiet(for: phone.user)
    for _ in 0..<2 {
      let picture = upload(phone, begins: false)
      runUntilQuiet()
      show([picture], phone)
      runUntilQuiet()
      if !folders[phone.gateway].files.contains(picture.id) { fail("\(picture.id) is shown, and its file is gone") }
    }
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
      if case .discard(let told) = message.body { told.pictures.contains(PictureFate(gone: picture.id)) } else { false }
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
