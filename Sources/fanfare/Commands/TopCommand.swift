import ArgumentParser
import Console
import Foundation
import Settings
import Wire
import ZeroMQ

struct TopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top", abstract: "Show what the server does now: rates, queues, hottest channels, slowest clients.",
    discussion: """
      Reads /metrics of each process that --metrics names, and asks the broker where most goes on. On a terminal the \
      view is live, and q or Ctrl-C ends it; elsewhere one frame is printed.
      """)

  @OptionGroup var services: ServiceOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Address of a process's metrics; may be given more than once. The local server's where it is left out.",
      valueName: "url"))
  var metrics: [String] = []

  @Option(name: .long, help: "Seconds between two looks.")
  var interval = 2

  @Flag(name: .long, help: "Print one frame: what happened between two looks.")
  var once = false

  @Flag(name: .long, help: "Print frames as JSON, one to a line.")
  var json = false

  func validate() throws {
    guard (1...3600).contains(interval) else {
      throw ValidationError("--interval \(interval): write 1 to 3600 seconds")
    }
  }

  func run() async throws {
    let looker = try TopLooker(services, metrics: metrics)
    defer { looker.close() }
    let terminal = once || json ? nil : Terminal.open()
    defer { terminal?.restore() }
    var before = try await looker.look()
    // The first look tells what is; rates need a second one.
    if let terminal { terminal.show(TopFrame(nil, before)) }
    while true {
      if try await isOver(terminal) { return }
      let now = try await looker.look()
      let frame = TopFrame(before, now)
      before = now
      if let terminal {
        terminal.show(frame)
      } else if json {
        FileHandle.standardOutput.write(Data(frame.json + [0x0A]))
      } else {
        let width = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) } ?? 100
        for line in TopScreen(width: width).lines(frame) { print(line) }
      }
      if terminal == nil && (once || !json) { return }
    }
  }

  /// Waits for the next look.
  ///
  /// - Returns: true where whoever sits at the terminal has enough.
  private func isOver(_ terminal: Terminal?) async throws -> Bool {
    guard let terminal else {
      try await Task.sleep(for: .seconds(interval))
      return false
    }
    // In short steps, so that a key counts soon.
    for _ in 0..<(interval * 10) {
      if terminal.isDone { return true }
      try await Task.sleep(for: .milliseconds(100))
    }
    return terminal.isDone
  }
}

/// Looks at the metrics of all processes and at what the gateways tell.
final class TopLooker {
  private let services: ServiceOptions
  private let addresses: [String]
  private let reader = MetricsReader("top", timeoutMilliseconds: 5000)

  init(_ services: ServiceOptions, metrics: [String]) throws {
    self.services = services
    addresses = try metrics.isEmpty ? [Self.local(try services.settings.load())] : metrics
  }

  /// The local server's metrics, at the address that it wrote down when it started.
  private static func local(_ settings: Settings) throws -> String {
    if let admin = Endpoints.admin(in: settings.data.directory) { return "\(admin)/metrics" }
    guard settings.admin.port > 0 else {
      throw Complaint("no server runs in \(settings.data.directory): start one, or name its metrics with --metrics URL")
    }
    return "\(AdminSetup.address(port: settings.admin.port, for: settings))/metrics"
  }

  func look() async throws -> TopSnapshot {
    let looked = await reader.pages(at: addresses)
    let pages = looked.pages.map { MetricsPage($0) }
    var troubles = looked.troubles
    if pages.isEmpty, let trouble = troubles.first { throw Complaint(trouble) }
    var snapshot = TopSnapshot(at: Double(MonotonicClock.now()) / 1e9, pages: pages)
    do {
      let answer = try services.answer(to: "top", Array("{}".utf8))
      if let value = try? JSONValue(parsing: answer) { snapshot.add(top: value) }
    } catch {
      troubles.append("\(error)")
    }
    snapshot.troubles = troubles
    return snapshot
  }

  func close() { reader.close() }
}
