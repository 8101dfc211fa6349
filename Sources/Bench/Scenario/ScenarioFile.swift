public import Foundation

/// Where scenarios come from: files of JSON with keys in snake_case, with defaults for what they leave out.
public enum ScenarioFile {
  /// A value that the command line puts in place of the file's: a path such as `groups.0.rate`, and what it is set to.
  public struct Override: Sendable, Equatable {
    public var path: String
    /// What the path is set to: JSON where it can be read as JSON, else text as it is.
    public var value: String
    /// The value is text, whatever it looks like.
    public var isText = false

    public init(path: String, value: String) { (self.path, self.value) = (path, value) }

    /// A text that may look like a number or like JSON.
    public init(path: String, text: String) { (self.path, value, isText) = (path, text, true) }

    /// - Throws: a sentence, where the text is not `path=value`.
    public init(_ text: String) throws(BenchError) {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw BenchError("\"\(text)\" sets nothing; write it like groups.0.rate=100.")
      }
      (path, value) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
  }

  static let keys = [
    "name", "about", "measure", "groups", "warmup", "duration", "ramp", "missed", "format", "turns", "workers",
    "peers", "settings", "template", "goals",
  ]
  static let groupKeys = [
    "name", "channels", "subscribers", "rate", "payload", "burst", "publishers", "slow", "namespace", "worker",
  ]
  static let templateKeys = ["sub", "pub", "sub_ack", "pub_ack"]
  static let rampKeys = ["factor", "seconds", "p99_limit_milliseconds", "maximum_steps"]

  /// Reads a scenario by its name or its file.
  ///
  /// - Parameter folder: in which names are looked for; nil: the scenarios that are built in.
  public static func load(
    _ nameOrPath: String, in folder: String? = nil, overrides: [Override] = []
  ) throws(BenchError) -> Scenario {
    let name = nameOrPath.split(separator: "/").last.map(String.init) ?? nameOrPath
    return try decode(
      try text(of: nameOrPath, in: folder), file: name.hasSuffix(".json") ? name : "\(name).json",
      overrides: overrides)
  }

  /// A scenario that no file has: one group, with what is set and the defaults for everything else.
  ///
  /// - Throws: what is thrown of a file; also where nothing is set, because nobody wants to measure defaults by
  ///   mistake.
  public static func made(of overrides: [Override]) throws(BenchError) -> Scenario {
    guard overrides.contains(where: { $0.path.hasPrefix("groups.") }) else {
      throw BenchError(
        "name a scenario (fanfare-bench scenarios lists them), or say what to measure, such as "
          + "--subscribers 100 --rate 50 --payload 256.")
    }
    let least = #"{ "name": "ad-hoc", "about": "As the command line says.", "groups": [ { "name": "group" } ] }"#
    return try decode(Data(least.utf8), file: "the command line", overrides: overrides)
  }

  /// - Parameter file: name of the file, for errors; without `.json` the scenario's name where it has none.
  public static func decode(
    _ data: Data, file: String, overrides: [Override] = []
  ) throws(BenchError) -> Scenario {
    var tree = try JSONValue(parsing: data, named: file)
    for override in overrides {
      try tree.set(override.path, to: override.isText ? .text(override.value) : JSONValue(written: override.value))
    }
    let fields = try ScenarioFields(tree, file: file, path: "", keys: keys)
    let scenario = try read(fields)
    try ScenarioRules.check(scenario, file: file)
    return scenario
  }

  private static func read(_ fields: ScenarioFields) throws(BenchError) -> Scenario {
    let measures = ["delivery", "saturation", "connect", "resume", "idle"]
    let measure = try fields.choice("measure", default: Scenario.Defaults.measure.rawValue, of: measures)
    var groups: [Scenario.Group] = []
    for group in try fields.objects("groups", keys: groupKeys, "a list of one group of channels or more") {
      groups.append(try read(group: group, number: groups.count))
    }
    let ramp: Scenario.Ramp? =
      if let ramp = try fields.object("ramp", keys: rampKeys) {
        try read(ramp: ramp)
      } else if measure == "saturation" {
        Scenario.Defaults.ramp
      } else {
        nil
      }
    let file = fields.file.hasSuffix(".json") ? String(fields.file.dropLast(5)) : fields.file
    let seconds = "a number of seconds"
    return Scenario(
      name: try fields.text("name", default: file, "a short name"),
      about: try fields.text("about", default: nil, "one sentence for the report"),
      measure: Scenario.Measure(rawValue: measure) ?? Scenario.Defaults.measure,
      groups: groups,
      warmup: try fields.number("warmup", default: Scenario.Defaults.warmup, in: 0...600, seconds),
      duration: try fields.number("duration", default: Scenario.Defaults.duration, in: 0.5...604_800, seconds),
      ramp: ramp,
      missed: fields.has("missed")
        ? try fields.whole("missed", default: Scenario.Defaults.missed, in: 1...100_000, "a number of publications")
        : measure == "resume" ? Scenario.Defaults.missed : nil,
      format: try fields.choice("format", default: Scenario.Defaults.format, of: ["json", "protobuf"]),
      turns: try fields.whole("turns", default: Scenario.Defaults.turns, in: 1...1_000, "a number of turns"),
      workers: try fields.whole("workers", default: Scenario.Defaults.workers, in: 1...64, "a number of processes"),
      peers: try fields.texts("peers", default: Scenario.Defaults.peers, "a list of peers' names"),
      settings: try fields.texts("settings", default: [], "a list of settings, each like \"client.ping_interval=5m\""),
      template: try fields.object("template", keys: templateKeys).map(read(template:)),
      goals: fields.has("goals") ? try read(goals: fields) : nil)
  }

  private static func read(template fields: ScenarioFields) throws(BenchError) -> MessageTemplates {
    func text(_ key: String) throws(BenchError) -> String? {
      fields.has(key) ? try fields.text(key, default: "", "a text") : nil
    }
    guard let pub = try text("pub") else {
      throw fields.missing("pub", "what a publisher sends, such as \"P %C %P\"; on the command line --pub")
    }
    return MessageTemplates(
      sub: try text("sub") ?? "", pub: pub, subAck: try text("sub_ack"), pubAck: try text("pub_ack"))
  }

  private static func read(goals fields: ScenarioFields) throws(BenchError) -> [Goal] {
    var goals: [Goal] = []
    for goal in try fields.objects("goals", keys: Goal.keys, "a list of one goal or more") {
      goals.append(try read(goal: goal))
    }
    return goals
  }

  private static func read(group fields: ScenarioFields, number: Int) throws(BenchError) -> Scenario.Group {
    let standard = Scenario.Defaults.group
    return Scenario.Group(
      name: try fields.text("name", default: "group\(number)", "a short name"),
      channels: try fields.whole("channels", default: standard.channels, in: 1...1_000_000, "a number of channels"),
      subscribers: try fields.whole(
        "subscribers", default: standard.subscribers, in: 0...1_000_000, "a number of subscribers of each channel"),
      rate: try fields.number("rate", default: standard.rate, in: 0...10_000_000, "a rate per second"),
      payload: try fields.whole(
        "payload", default: standard.payload, in: ScenarioRules.payloads, "a number of bytes"),
      burst: try fields.whole(
        "burst", default: standard.burst, in: 1...100_000, "a number of publications at the same time"),
      publishers: try fields.whole(
        "publishers", default: standard.publishers, in: 0...100_000, "a number of connections"),
      slow: try fields.number("slow", default: standard.slow, in: 0...1, "a part of 1"),
      namespace: try fields.text("namespace", default: standard.namespace, "a namespace's name, or empty"),
      worker: fields.has("worker")
        ? try fields.whole("worker", default: 0, in: 0...63, "the number of a process") : nil)
  }

  private static func read(ramp fields: ScenarioFields) throws(BenchError) -> Scenario.Ramp {
    let standard = Scenario.Defaults.ramp
    return Scenario.Ramp(
      factor: try fields.number("factor", default: standard.factor, in: 1.01...10, "a factor"),
      seconds: try fields.number("seconds", default: standard.seconds, in: 0.5...3_600, "a number of seconds"),
      p99LimitMilliseconds: try fields.number(
        "p99_limit_milliseconds", default: standard.p99LimitMilliseconds, in: 0.01...60_000,
        "a number of milliseconds"),
      maximumSteps: try fields.whole(
        "maximum_steps", default: standard.maximumSteps, in: 1...1_000, "a number of steps"))
  }
}
