import Foundation
import Synchronization
import TestSupport

/// Stands in for browsers' push services, APNs and FCM: notes in order what is asked of the devices that it has given out.
final class PushReceiver: Sendable {
  /// A device of somebody's.
  struct Device: Sendable {
    /// As arrivals name it.
    var name: String
    /// As it is registered.
    var json: String
  }

  private let servers: PushServers
  private let noted = Mutex(Noted())
  /// Of a server that sends here, and of its gateways.
  let settings: [String]

  init() async throws {
    servers = try await PushServers(areSendersKilled: true)
    settings = try ["push.notifications=true"] + servers.assignments()
  }

  func stop() { servers.stop() }

  /// A device of the service whose turn it is.
  ///
  /// - Parameter number: no other device has it.
  func device(_ number: Int, _ name: String) throws -> Device {
    let device = try servers.device(number)
    let named = "\(name) (\(device.kind))"
    noted.withLock { $0.names[device.name] = named }
    return Device(name: named, json: device.json)
  }

  /// All that has come, in order.
  var arrivals: [NoticeArrival] {
    noted.withLock {
      $0.read(servers.log)
      return $0.arrivals
    }
  }

  /// How much each service was asked for.
  var counts: [String: Int] { noted.withLock { $0.counts } }
  /// The rules of services that a request broke, which was refused for it.
  var broken: [String] { noted.withLock { $0.broken } }

  /// What was read of the file so far: people look at it all the time.
  private struct Noted {
    /// Of devices, by what services call them.
    var names: [String: String] = [:]
    private var bytes: UInt64 = 0
    private(set) var arrivals: [NoticeArrival] = []
    private(set) var counts: [String: Int] = [:]
    private(set) var broken: [String] = []

    mutating func read(_ file: URL) {
      guard let handle = try? FileHandle(forReadingFrom: file) else { return }
      defer { try? handle.close() }
      try? handle.seek(toOffset: bytes)
      let read = (try? handle.readToEnd()) ?? Data()
      // A line of which a part was written is read when it is whole.
      let whole = read.prefix(read.lastIndex(of: UInt8(ascii: "\n")).map { $0 - read.startIndex + 1 } ?? 0)
      bytes += UInt64(whole.count)
      for line in String(decoding: whole, as: UTF8.self).split(separator: "\n") { take(String(line)) }
    }

    private mutating func take(_ line: String) {
      let noted = try? JSON(line)
      if let rule = noted?["broken"].string { return broken.append(rule) }
      guard var arrival = NoticeArrival(line) else { return }
      arrival.device = names[arrival.device] ?? arrival.device
      arrivals.append(arrival)
      counts[noted?["service"].string ?? "", default: 0] += 1
    }
  }
}
