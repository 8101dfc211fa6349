/// Where a worker stands in its turn.
struct Run {
  /// An order is waited for. Can transition to: `.publishing` on begin or step, `.holding` on begin of an idle run.
  enum Stage {
    case waiting
    /// Publications go out. Can transition to: `.draining` once all did.
    case publishing
    /// What was published arrives. Can transition to: `.waiting`, or in a resume run `.apart`.
    case draining
    /// A resume run: everybody was dropped, publications go out. Can transition to: `.returning`.
    case apart
    /// Everybody comes back and recovers. Can transition to: `.waiting`.
    case returning
    /// Nothing but time passes. Can transition to: `.waiting`.
    case holding
  }

  /// Seconds without an arrival until what is missing counts as lost, unless the plan says otherwise.
  static let usualPatience = 5.0
  static let second: UInt64 = 1_000_000_000

  /// Nanoseconds without an arrival until what is missing counts as lost.
  let patience: UInt64

  var stage = Stage.waiting
  var isReady = false
  var isOver = false
  var hasReported = false
  /// Orders that have not been followed yet.
  var orders: [WorkerOrder] = []
  /// In a resume run: clients come back and ask for what they missed.
  var isReturning = false
  /// Publications that are due before this are checked and not measured.
  var measureFrom: UInt64 = .max
  var measureTo: UInt64 = .max
  var origin: UInt64 = 0
  /// When the stage ends by itself.
  var deadline: UInt64 = .max
  /// Draining never takes longer than to this time.
  var lastChance: UInt64 = .max
  var lastArrived = 0
  var nextTick: UInt64 = .max
  var timerSetTo: UInt64 = .max
  /// In a resume run: when all clients are dropped, and then when all come back.
  var resumeAt: UInt64 = .max
  var stalledSince: UInt64 = 0
  /// Whether this is a step of a ramp, which ends with ``WorkerMessage/stepped(_:)``.
  var isStep = false

  var seconds: [WorkerReport.Second] = []
  var disconnected = 0
  private(set) var remarks: [String] = []
  var cpuBegin: UInt64 = 0
  var cpuEnd: UInt64?
  var wallBegin: UInt64 = 0
  var wallEnd: UInt64 = 0

  /// The next time at which something is to be looked at.
  var nextCheck: UInt64 { min(deadline, nextTick, cpuEnd != nil ? .max : cpuBegin == 0 ? measureFrom : measureTo) }

  init(patience: Double?) { self.patience = nanoseconds(patience ?? Self.usualPatience) }

  /// Whether this is a time of the measured time.
  func isMeasuring(at time: UInt64) -> Bool { time >= measureFrom && time < measureTo }

  mutating func remark(_ sentence: String) {
    guard remarks.count < 20, !remarks.contains(sentence) else { return }
    remarks.append(sentence)
  }

  mutating func resetCounts() {
    seconds = []
    disconnected = 0
    remarks = []
    cpuBegin = 0
    cpuEnd = nil
    wallBegin = 0
    wallEnd = 0
  }
}
