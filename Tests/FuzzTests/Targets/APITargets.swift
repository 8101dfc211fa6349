import Auth
import Wire

@testable import Admin
@testable import Broker

/// Calls of the server API, which backends make over HTTP.
enum APITargets {
  private static let methods = ["batch"] + APIMethod.allCases.map(\.rawValue)
  private static let mostParts = 16

  /// The first byte chooses the method, and the rest is the body.
  static func call(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    let method = bytes.pick(methods)
    let body = bytes.rest()
    let plan: APIPlan
    do throws(ClientError) { plan = try APIPlan(method, body: body, limit: mostParts, request) } catch { return false }
    let asked = plan.steps.flatMap { $0 }
    try require(plan.commands.count <= mostParts, "\(plan.commands.count) commands of one call")
    let parts = plan.commands.flatMap(\.parts)
    try require(parts.count <= mostParts, "\(parts.count) parts of one call")
    var numbers: [Int] = []
    for case .asked(let number, let request) in parts {
      numbers.append(number)
      try LinkTargets.checkRequest(request)
    }
    try require(numbers.sorted() == Array(asked.indices), "the requests \(numbers) are asked as \(asked.count)")
    return !asked.isEmpty
  }

  private static func request(_ target: APIPlan.Target) throws(ClientError) -> BrokerRequest {
    try ServiceRequest.read(
      target.method.rawValue, target.arguments, channel: target.channel, payload: target.payload)
  }
}
