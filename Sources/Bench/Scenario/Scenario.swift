/// What is to be measured: one small JSON file, which a user can copy and change.
///
/// Every duration is in seconds, every size in bytes, every rate per second.
public struct Scenario: Codable, Sendable, Equatable {
  /// What the run measures.
  public enum Measure: String, Codable, Sendable {
    /// Publications on a schedule; latency from the intended time.
    case delivery
    /// Publications at a rate that rises step by step, until p99 passes a limit.
    case saturation
    /// All subscribers connect as fast as the server takes them.
    case connect
    /// All subscribers drop at once while publications go on, reconnect, and recover what they missed.
    case resume
    /// Connections that do nothing: the server's memory for each.
    case idle
  }

  /// Channels that are alike, with their subscribers and publishers.
  public struct Group: Codable, Sendable, Equatable {
    /// The group's name in the report, and a part of its channels' names.
    public var name: String
    public var channels: Int
    /// Subscribers of each channel.
    public var subscribers: Int
    /// Publications per second over all of the group's channels together, evenly spaced; the channels take turns.
    public var rate: Double
    /// Bytes of a publication's content, at least ``Marker/length``.
    public var payload: Int
    /// How many publications share an intended time; 1: they are spaced evenly. The rate is the same with any.
    public var burst: Int
    /// Connections that publish; channel `i` belongs to publisher `i % publishers`.
    public var publishers: Int
    /// Part of the subscribers that stop reading after they subscribed.
    public var slow: Double
    /// Channels are named `namespace:name-index`; empty: without a namespace. Peers without namespaces ignore it.
    public var namespace: String
    /// The generator's process that holds all of the group's subscribers; nil: they are spread over all. A group that
    /// is read by a process of its own does not wait until another's flood is read.
    public var worker: Int? = nil
  }

  /// How the rate rises in a ``Measure/saturation`` run. The group's `rate` is the first step's.
  public struct Ramp: Codable, Sendable, Equatable {
    /// Each step's rate is the rate of the step before, times this.
    public var factor: Double
    /// How long each step lasts.
    public var seconds: Double
    /// The knee is the highest step whose p99 is at most this.
    public var p99LimitMilliseconds: Double
    public var maximumSteps: Int
  }

  public var name: String
  /// One sentence for the report.
  public var about: String
  public var measure: Measure
  public var groups: [Group]
  public var warmup: Double
  public var duration: Double
  public var ramp: Ramp?
  /// Publications missed by each subscriber of a ``Measure/resume`` run.
  public var missed: Int?
  /// `json` or `protobuf`, for peers that speak the Centrifuge protocol.
  public var format: String
  /// How often each peer is measured. Peers take turns.
  public var turns: Int
  /// Processes of the generator. Each holds a part of the subscribers.
  public var workers: Int
  /// Names of the servers to measure, unless the command line names others.
  public var peers: [String]
  /// Settings of the Fanfare server for this scenario, as its `--set` takes them.
  public var settings: [String]
  /// How the server at `--url` is spoken to, where it speaks no dialect that the bench knows by name.
  public var template: MessageTemplates? = nil
  /// What figures are to reach: the report says whether they did.
  public var goals: [Goal]? = nil

  /// Puts all channels into this namespace; "": into none.
  public mutating func setNamespace(_ namespace: String) {
    for index in groups.indices { groups[index].namespace = namespace }
  }
}
