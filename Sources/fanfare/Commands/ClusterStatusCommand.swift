import ArgumentParser
import Foundation
import Log
import Wire

extension ClusterCommand {
  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Say which broker has the log, who waits for it, and how the database's standbys are.",
      discussion: """
        Asks the database, with the connection of the settings. A log that has several partitions has a line for each. \
        Exit code 1 where no broker has the log or one of its partitions, or the lease is over.
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
      guard status.partitions.allSatisfy(\.isKept) else { throw ExitCode(1) }
    }
  }
}

extension ClusterStatus {
  /// What people are told. A log that is not shared out has no word of partitions.
  var lines: [String] {
    var lines: [String]
    if partitions.count == 1 {
      lines = whole(partitions[0])
    } else {
      lines = partitions.enumerated().map { number, partition in
        "partition \(number)".padding(toLength: 14, withPad: " ", startingAt: 0) + partition.line
      }
    }
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

  private func whole(_ partition: Partition) -> [String] {
    guard let owner = partition.owner else {
      return ["owner     none: no broker has the log"] + partition.waiting.map { "waiting   \($0)" }
    }
    let line = "owner     \(owner.name): \(shards) shards, epoch \(owner.epoch) since \(owner.since), \(owner.lease)"
    return [line] + partition.waiting.map { "waiting   \($0)" }
  }

  var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      if partitions.count == 1 {
        partitions[0].write(to: &writer)
      } else {
        writer.list("partitions") { writer in
          for (number, partition) in partitions.enumerated() {
            writer.object { writer in
              writer.write("partition", number)
              partition.write(to: &writer)
            }
          }
        }
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

extension ClusterStatus.Owner {
  fileprivate var lease: String {
    let left = millisecondsLeft
    return left > 0 ? "lease renewed within \(left) ms" : "lease over since \(-left) ms: the broker hangs, or is gone"
  }
}

extension ClusterStatus.Partition {
  fileprivate var line: String {
    let line = waiting.isEmpty ? "" : "; waiting: \(waiting.joined(separator: "; "))"
    guard let owner else { return "none: no broker has it\(line)" }
    let broker = owner.broker.isEmpty ? "" : " (broker \(owner.broker))"
    return "\(owner.name)\(broker): epoch \(owner.epoch) since \(owner.since), \(owner.lease)\(line)"
  }

  fileprivate func write(to writer: inout JSONWriter) {
    if let owner {
      writer.object("owner") { writer in
        writer.write("name", owner.name)
        if !owner.broker.isEmpty { writer.write("broker", owner.broker) }
        writer.write("epoch", owner.epoch)
        writer.write("since", owner.since)
        writer.write("milliseconds_left", owner.millisecondsLeft)
      }
    }
    writer.list("waiting") { writer in
      for name in waiting { writer.write(element: name) }
    }
  }
}
