import ArgumentParser
import Foundation
import Log
import Wire

/// What brokers that share a log in PostgreSQL do, and are to do.
struct ClusterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster", abstract: "Look at brokers that share a log in PostgreSQL, and have one hand it over.",
    subcommands: [Status.self, Drain.self, Partition.self])

  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Say which broker has the log, who waits for it, and how the database's standbys are.",
      discussion: """
        Asks the database, with the connection of the settings. Exit code 1 where no broker has the log, or its lease is \
        over.
        """)

    @OptionGroup var settings: SettingsOptions

    @Flag(name: .long, help: "Print JSON.")
    var json = false

    func run() throws {
      let status: ClusterStatus
      do { status = try LogSetup.status(for: try settings.load()) } catch let error as PostgresStartError {
        throw Complaint("\(error)")
      }
      if json {
        FileHandle.standardOutput.write(Data(status.json + [0x0A]))
      } else {
        for line in status.lines { print(line) }
      }
      guard let owner = status.owner, owner.millisecondsLeft > 0 else { throw ExitCode(1) }
    }
  }

  struct Drain: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Have the broker that has the log hand it over to the next in line, and end.",
      discussion: """
        Asks by way of the database, with the connection of the settings, so it runs on any machine. The broker writes \
        what it has taken, ends with exit code 0, and is in line again when its supervisor starts it. Clients of gateways \
        stay connected. Exit code 1 where nobody has taken over; then nothing is asked of the broker any more.
        """)

    @OptionGroup var settings: SettingsOptions

    @Option(help: "How long it may take, in seconds.")
    var timeout = 30

    @Flag(help: "Also where nobody stands in line: afterwards nobody has the log.")
    var alone = false

    func validate() throws {
      guard (1...86_400).contains(timeout) else { throw ValidationError("--timeout takes 1 to 86400 seconds.") }
    }

    func run() throws {
      do {
        let outcome = try LogSetup.drain(for: try settings.load(), within: Int64(timeout) * 1000, alone: alone)
        print("\(outcome.former) has handed the log over: \(outcome.next ?? "nobody") has the log now")
      } catch let error as PostgresStartError {
        throw Complaint("\(error)")
      } catch let error as ClusterDrain.Fault {
        throw Complaint("\(error)")
      }
    }
  }
}

extension ClusterStatus {
  fileprivate var lines: [String] {
    var lines: [String] = []
    if let owner {
      let left = owner.millisecondsLeft
      let lease = left > 0 ? "renewed within \(left) ms" : "over since \(-left) ms: the broker hangs, or is gone"
      lines.append(
        "owner     \(owner.name): \(shards) shards, epoch \(owner.epoch) since \(owner.since), lease \(lease)")
    } else {
      lines.append("owner     none: no broker has the log")
    }
    lines += waiting.map { "waiting   \($0)" }
    lines.append("database  PostgreSQL \(serverVersion)\(isReadOnly ? ", which takes no writes" : "")")
    lines += replicas.map { replica in
      let known = [replica.state, replica.synchrony].filter { !$0.isEmpty }.joined(separator: ", ")
      let isShown = !known.isEmpty
      return "standby   \(replica.name): "
        + (isShown ? "\(known), \(replica.bytesBehind) bytes behind" : "not shown to this user (GRANT pg_monitor)")
    }
    lines.append("outbox    \(outboxRows) wait, \(refusedRows) were refused")
    return lines
  }

  fileprivate var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      if let owner {
        writer.object("owner") { writer in
          writer.write("name", owner.name)
          writer.write("epoch", owner.epoch)
          writer.write("since", owner.since)
          writer.write("milliseconds_left", owner.millisecondsLeft)
        }
      }
      writer.list("waiting") { writer in
        for name in waiting { writer.write(element: name) }
      }
      writer.write("shards", shards)
      writer.write("server_version", serverVersion)
      writer.write("read_only", isReadOnly)
      writer.list("standbys") { writer in
        for replica in replicas {
          writer.object { writer in
            writer.write("name", replica.name)
            writer.write("state", replica.state)
            writer.write("synchrony", replica.synchrony)
            writer.write("bytes_behind", replica.bytesBehind)
          }
        }
      }
      writer.write("outbox_rows", outboxRows)
      writer.write("refused_rows", refusedRows)
    }
    return writer.bytes
  }
}
