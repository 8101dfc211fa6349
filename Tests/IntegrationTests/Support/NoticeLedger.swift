/// What a push service was asked to do at a device.
struct NoticeArrival {
  enum Kind { case show, withdrawal, update }

  /// The device's token, the path of its endpoint, or a name for either.
  var device: String
  /// Which process has asked, by number: each has a token of its own with the service.
  var life: Int
  var kind: Kind
  var topic = ""
  /// The newest message of the conversation, where there is one.
  var offset: Int?
  /// All that was asked, as it came.
  var text = ""
  /// When it came, in milliseconds.
  var time = 0
}

extension NoticeArrival {
  /// A line of ``PushServers/log``; nil where it asks nothing of a device, as a request for an access token does, or was
  /// refused.
  init?(_ line: String) {
    guard let noted = try? JSON(line), noted["broken"].isNull, let device = noted["device"].string,
      let life = noted["life"].int
    else { return nil }
    // The fields for the app, and where it is said that they take back or replace what is shown.
    let data: JSON
    var marks = noted["text"]
    switch noted["service"].string {
    case "fcm":
      data = marks["message"]["data"]
      marks = data
    case "web" where !marks["notification"].isNull: data = marks["notification"]["data"]
    case "web", "apns": data = marks["data"]
    default: return nil
    }
    let kind: Kind = !marks["withdraw"].isNull ? .withdrawal : !marks["update"].isNull ? .update : .show
    self.init(
      device: device, life: life, kind: kind, topic: data["topic"].string ?? "",
      offset: data["offset"].string.flatMap { Int($0) }, text: line, time: noted["at"].int ?? 0)
  }
}

/// What was to be told of one person's devices for a while, which ends when nothing of it is shown any more.
struct NoticeLedger {
  /// Something that concerns the person.
  struct Notice: Equatable {
    var topic: String
    /// Of the message, where it is about one.
    var offset: Int?
    /// No device acknowledged it and nothing speaks against it, so each device is told; else it may be told or not.
    var isDue: Bool
  }

  var devices: [String]
  var notices: [Notice] = []
  /// What stands in nothing that the devices are told of a topic: who has sent something sealed, whom they may be told as
  /// soon as something is revealed.
  var secrets: [(text: String, topic: String)] = []

  /// Whether each device was told what is due.
  func isTold(by arrivals: [NoticeArrival]) -> Bool { untold(by: arrivals).isEmpty }

  /// Whether nothing is shown that was told.
  func isWithdrawn(by arrivals: [NoticeArrival]) -> Bool { shown(by: arrivals).isEmpty }

  /// Milliseconds after which a process may tell something again: half of the time for which it waits for an answer, as
  /// the service may have noted the first request late.
  private static let patience = 10_000

  /// What is wrong with what has come, in the order in which it came.
  ///
  /// A process tells each thing once, since one send to a person follows the other, unless the service took so long to
  /// answer that it was asked again, as on a machine that stands still. Another process may tell once more what
  /// the one before it had under way when it was killed. Which of the two was first is known by their numbers, however
  /// late a request was read.
  func faults(in arrivals: [NoticeArrival]) -> [String] {
    var faults = untold(by: arrivals) + shown(by: arrivals)
    for arrival in arrivals {
      let told = secrets.filter { [$0.topic, ""].contains(arrival.topic) && arrival.text.contains($0.text) }
      faults += told.map { "\(arrival.device) was told \($0.text) with \($0.topic)" }
    }
    var last: [String: Int] = [:]
    var times: [String: Int] = [:]
    var counts: [String: Int] = [:]
    for show in arrivals where show.kind == .show {
      let offset = show.offset.map { " up to \($0)" } ?? ""
      let what = "\(show.device) was told of \(show.topic)\(offset)"
      if !devices.contains(show.device) {
        faults.append("\(what), and is not registered")
      } else if !notices.contains(where: { $0.topic == show.topic && $0.offset == show.offset }) {
        faults.append("\(what), of which it is not to be told")
      }
      let place = "\(show.device) \(show.life) \(show.topic)"
      counts[place, default: 0] += 1
      let isNew =
        if let offset = show.offset { offset > last[place] ?? 0 } else {
          counts[place, default: 0] <= notices.count { $0.topic == show.topic }
        }
      let since = times[place].map { show.time - $0 } ?? 0
      if !isNew, since < Self.patience {
        faults.append("\(what) again by process \(show.life) after \(since) ms")
      }
      (last[place], times[place]) = (show.offset, show.time)
    }
    return faults
  }

  private func untold(by arrivals: [NoticeArrival]) -> [String] {
    devices.flatMap { device in
      notices.filter(\.isDue).compactMap { notice in
        let isTold = arrivals.contains { show in
          show.kind == .show && show.device == device && show.topic == notice.topic
            && show.offset ?? 0 >= notice.offset ?? 0
        }
        return isTold ? nil : "\(device) was not told of \(notice.topic) \(notice.offset.map(String.init) ?? "")"
      }
    }
  }

  private func shown(by arrivals: [NoticeArrival]) -> [String] {
    devices.compactMap { device in
      let ordered = arrivals.filter { $0.device == device && $0.kind != .update }.enumerated()
        .sorted { ($0.element.life, $0.offset) < ($1.element.life, $1.offset) }
      guard let last = ordered.last?.element, last.kind == .show else { return nil }
      return "\(device) still shows \(last.topic)"
    }
  }
}
