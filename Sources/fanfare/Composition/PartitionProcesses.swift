import Foundation
import Log
import Logging
import ServiceLifecycle
import Settings
import Supervision
import ZeroMQ

#if canImport(Glibc)
  import Glibc
#endif

/// The brokers of all partitions on this machine: one process for each, which this one starts, starts again when it ends
/// (``SupervisedChild``), and takes with it when it ends itself, however that happens (``ChildProgram``).
///
/// A process of its own for each has a core of its own, and a partition whose broker hands its log over or fails takes no
/// other one with it. This process has no log and touches no channel.
struct PartitionProcesses: Service {
  /// By this the program knows that its standard input ends with the process that has started it.
  static let childFlag = "ends-with-parent"

  private let settings: Settings
  private let logger: Logger
  private let program: ChildProgram
  /// How each is called; its own arguments come behind.
  private let arguments: [String]

  /// Runs them until the process is told to stop.
  ///
  /// - Parameters:
  ///   - settings: of all partitions.
  ///   - arguments: of this process, the program's name first. The children have the same, and which partition is theirs.
  static func run(_ settings: Settings, arguments: [String] = CommandLine.arguments) async throws {
    // What is wrong with the settings of any of them is said once, here.
    _ = try partitions(of: settings)
    try BackboneSetup.requireOpen(settings)
    let logger = LogOutput.logger(for: settings.log)
    let lock = try lockHome(of: settings)
    // Of a broker that had the folder to itself, and was killed.
    Endpoints.remove(from: settings.data.homeDirectory)
    let processes = PartitionProcesses(
      settings: settings, logger: logger, program: try child(), arguments: arguments)
    // Services that are for all partitions come behind this one, so that they end before the brokers do.
    let hasFront = settings.admin.enabled || settings.broker.services.enabled
    try await ServerProcess.run([processes] + (hasFront ? [ServerProcess(.front, settings)] : []))
    withExtendedLifetime(lock) {}
  }

  /// Runs the broker of one partition, in this process.
  ///
  /// - Parameters:
  ///   - number: from 0.
  ///   - endsWithParent: whether another process has started this one (``ChildProgram``), which has the lock of the folder.
  static func runBroker(of number: Int, _ settings: Settings, endsWithParent: Bool) async throws {
    let partition = try PartitionProcesses.partition(number, of: settings)
    var lock: DataFolderLock?
    if endsWithParent {
      let logger = LogOutput.logger(for: settings.log)
      ParentWatch.begin(patience: patience(of: settings)) {
        logger.notice(
          "the process that has started this broker is gone: it ends as well", metadata: ["partition": "\(number)"])
      }
    } else if partition.cluster.isHome {
      lock = try lockHome(of: settings)
    }
    try await ServerProcess.run(.broker, settings: partition)
    withExtendedLifetime(lock) {}
  }

  func run() async throws {
    // As the processes of all roles do: who reloads a certificate ends nothing by that.
    _ = signal(SIGHUP, SIG_IGN)
    let (events, happens) = AsyncStream.makeStream(of: Children.Event.self)
    logger.notice(
      "fanfare runs the brokers of \(settings.cluster.partitions) partitions",
      metadata: ["version": "\(Fanfare.version)", "data": "\(settings.data.homeDirectory)"])
    // A task of its own, which no cancellation ends before the children have ended.
    let supervision = Task { [self] in
      let children = Children(self, happens)
      await children.run(events)
    }
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        await supervision.value
      } onGracefulShutdown: {
        logger.notice("stopping: the brokers of all partitions are told to end")
        happens.yield(.stop)
      }
    } onCancel: {
      happens.yield(.stop)
    }
    logger.notice("stopped")
  }

  // MARK: Parts

  private static func partitions(of settings: Settings) throws -> [Settings] {
    try (0..<settings.cluster.partitions).map { try partition($0, of: settings) }
  }

  private static func partition(_ number: Int, of settings: Settings) throws -> Settings {
    do throws(SettingsError) { return try settings.brokerOfPartition(number) } catch { throw Complaint("\(error)") }
  }

  /// Keeps the folder of what an installation has once from other brokers that have it so.
  private static func lockHome(of settings: Settings) throws -> DataFolderLock {
    try DataFolderSetup.create(settings.data.homeDirectory)
    do throws(StartError) { return try DataFolderLock(settings.data.homeDirectory) } catch {
      throw Complaint("\(error)")
    }
  }

  private static func child() throws -> ChildProgram {
    do throws(ChildProgram.Fault) { return try ChildProgram(ChildProgram.own) } catch { throw Complaint("\(error)") }
  }

  /// How long a broker may take to end when it is told to, in milliseconds: what it gives those it serves, and some time to
  /// write what it has taken.
  private static func patience(of settings: Settings) -> Int64 { settings.shutdown.deadline.milliseconds + 10_000 }

  /// The children while they run. One task has it.
  private final class Children {
    enum Event: Sendable {
      case ended(process: Int32)
      /// A time has come for which one of them waited.
      case due
      case stop
    }

    private let processes: PartitionProcesses
    private let happens: AsyncStream<Event>.Continuation
    private var children: [SupervisedChild]
    private var timer: Task<Void, Never>?

    init(_ processes: PartitionProcesses, _ happens: AsyncStream<Event>.Continuation) {
      self.processes = processes
      self.happens = happens
      let rules = SupervisedChild.Rules(patience: PartitionProcesses.patience(of: processes.settings))
      children = (0..<processes.settings.cluster.partitions).map { _ in SupervisedChild(rules, at: Self.now) }
    }

    private static var now: Int64 { Int64(MonotonicClock.now() / 1_000_000) }

    /// Runs until all have ended.
    func run(_ events: AsyncStream<Event>) async {
      look()
      for await event in events {
        switch event {
        case .ended(let process): ended(process)
        case .due: break
        case .stop: stop()
        }
        look()
        if children.allSatisfy(\.hasEnded) { break }
      }
      timer?.cancel()
    }

    private func look() {
      for partition in children.indices {
        if let action = children[partition].look(at: Self.now) { perform(action, partition) }
      }
      timer?.cancel()
      timer = nil
      guard let next = children.compactMap(\.nextLook).min() else { return }
      let wait = max(1, next - Self.now)
      timer = Task { [happens] in
        try? await Task.sleep(for: .milliseconds(wait))
        if !Task.isCancelled { happens.yield(.due) }
      }
    }

    private func stop() {
      for partition in children.indices {
        if let action = children[partition].stop(at: Self.now) { perform(action, partition) }
      }
    }

    private func perform(_ action: SupervisedChild.Action, _ partition: Int) {
      switch action {
      case .start: start(partition)
      case .terminate(let process): ChildProgram.signal(process, SIGTERM)
      case .kill(let process):
        tell(.error, "the broker of partition \(partition) has not ended when it was told to, and is killed", partition)
        ChildProgram.signal(process, SIGKILL)
      }
    }

    private func start(_ partition: Int) {
      let arguments =
        processes.arguments + ["--partition", "\(partition)", "--\(PartitionProcesses.childFlag)"]
      do throws(ChildProgram.Fault) {
        let process = try processes.program.start(arguments) { [happens] in happens.yield(.ended(process: $0)) }
        children[partition].started(as: process, at: Self.now)
        tell(.notice, "the broker of partition \(partition) was started as process \(process)", partition)
      } catch {
        let delay = children[partition].couldNotStart(at: Self.now) ?? 0
        tell(
          .error,
          "the broker of partition \(partition) cannot be started: \(error). It is tried again in \(Self.seconds(delay))",
          partition)
      }
    }

    private func ended(_ process: Int32) {
      let code = ChildProgram.reap(process)
      for partition in children.indices {
        guard let end = children[partition].ended(process, code: code, at: Self.now) else { continue }
        // One that was killed has left them: nobody is there any more.
        Endpoints.remove(
          from: Settings.Data.directory(ofPartition: partition, in: processes.settings.data.homeDirectory))
        let how = code < 0 ? "was ended by signal \(-code)" : "ended with code \(code)"
        let what = "the broker of partition \(partition) \(how) after \(Self.seconds(end.ran))"
        switch end.restartsAfter {
        case nil: tell(.notice, what, partition)
        case 0: tell(.notice, what + ", and is started again", partition)
        case .some(let delay):
          let ofItself = code < 0 ? "" : "; what was wrong it has said above"
          tell(.error, what + ", and is started again in \(Self.seconds(delay))\(ofItself)", partition)
        }
      }
    }

    private func tell(_ level: Logger.Level, _ sentence: String, _ partition: Int) {
      processes.logger.log(level: level, "\(sentence)", metadata: ["partition": "\(partition)"])
    }

    private static func seconds(_ milliseconds: Int64) -> String {
      "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
  }
}
