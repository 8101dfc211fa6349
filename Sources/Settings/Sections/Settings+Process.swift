extension Settings {
  public struct Data: Sendable, Equatable {
    @Setting public var directory: String
    @Setting public var minimumFreeBytes: Int
    /// Bytes that the log may hold; 0: no limit.
    @Setting public var maximumBytes: Int
    /// Where what an installation has once is kept on this machine, whatever number of partitions the channels are shared
    /// among: keys, pictures, the index of home's messages. It is ``directory``, but for the broker of a partition.
    public internal(set) var homeDirectory: String

    init(_ declare: inout SettingDeclarations) {
      _directory = declare.text("directory", "data", "Folder for the log and the secret; made where it is missing.")
      homeDirectory = _directory.wrappedValue
      _minimumFreeBytes = declare.bytes(
        "minimum_free_bytes", mebibytes(64), in: 0...mebibytes(1024 * 1024),
        "Room on the disk that stays free: with less, publications are refused with error 100, and ends and removals go on."
      )
      _maximumBytes = declare.bytes(
        "maximum_bytes", 0, in: 0...mebibytes(1024 * 1024 * 1024),
        "Bytes that the log may hold before publications are refused with error 100; 0: no limit.")
    }

    /// Gives a partition's broker a folder of its own.
    mutating func enterPartition(_ number: Int) {
      _directory = Setting(Self.directory(ofPartition: number, in: homeDirectory), $directory.place)
    }

    /// The data folder of a partition's broker.
    ///
    /// - Parameter directory: that of all of them.
    public static func directory(ofPartition number: Int, in directory: String) -> String {
      "\(directory)/partition-\(number)"
    }
  }

  public struct Clock: Sendable, Equatable {
    public enum AfterRestart: String, Sendable, CaseIterable { case synchronized, always }

    @Setting public var maxStep: Duration
    @Setting public var afterRestart: AfterRestart

    init(_ declare: inout SettingDeclarations) {
      _maxStep = declare.duration(
        "max_step", .minutes(10), in: .seconds(1) ... .hours(24),
        "By how much the machine's clock may be set within a day; a larger step is not followed before the clock is right "
          + "again or a person confirms it with `fanfare clock confirm`.")
      _afterRestart = declare.choice(
        "after_restart", .synchronized,
        "When the machine's clock counts after the machine was off for longer: if the kernel says that a time server keeps "
          + "it, or a person confirms it; or always.")
    }
  }

  public struct Shutdown: Sendable, Equatable {
    @Setting public var deadline: Duration
    @Setting public var ramp: Duration
    /// Clients.
    @Setting public var rampFloor: Int

    init(_ declare: inout SettingDeclarations) {
      _deadline = declare.duration(
        "deadline", .seconds(10), in: .milliseconds(100) ... .minutes(10),
        "Time to finish what is under way when the server is told to stop.")
      _ramp = declare.duration(
        "ramp", .zero, in: .zero ... .minutes(10),
        "Time over which clients are sent away one after another when the server is told to stop, before "
          + "`shutdown.deadline` begins; until its turn comes each is served as ever. For gateways beside which others "
          + "take the clients. 0s: all at once.")
      _rampFloor = declare.integer(
        "ramp_floor", 100, in: 0...10_000_000,
        "With fewer clients than this there is no ramp: all are sent away at once.")
    }
  }

  public struct Log: Sendable, Equatable {
    public enum Format: String, Sendable, CaseIterable { case text, json }
    public enum Engine: String, Sendable, CaseIterable { case sqlite, postgres }

    /// The database server that keeps the log, where ``Log/engine`` is `postgres`.
    public struct Postgres: Sendable, Equatable {
      @Setting public var connection: String
      @Setting public var schema: String
      @Setting public var wait: Duration
      @Setting public var outboxInterval: Duration

      init(_ declare: inout SettingDeclarations) {
        _connection = declare.text(
          "connection", "",
          "Where the server is, as libpq takes it: `postgresql://user@host:5432/database`, or `host=… user=… dbname=…`. A "
            + "password is better kept in a file that libpq reads (`passfile=…`).",
          isSecret: true)
        _schema = declare.text(
          "schema", "fanfare",
          "The schema of the log's tables, made where it is missing: up to 40 of a-z, 0-9 and `_`. One broker at a time "
            + "keeps the log of a schema.")
        _wait = declare.duration(
          "wait", .seconds(10), in: .zero ... .hours(100_000),
          "How long a start waits while another broker keeps the log. With a long time the process is a standby: it serves "
            + "nothing, and begins as soon as the other one has ended.")
        _outboxInterval = declare.duration(
          "outbox_interval", .milliseconds(2), in: .zero ... .seconds(60),
          "How often the broker looks for what backends have published in transactions of their own, with the schema's "
            + "function publish; with cluster.partitions, for what partitions say to each other. 0s: never, which one "
            + "broker alone may.")
      }
    }

    /// The least severe level that is logged, by its name in swift-log.
    @Setting public var level: String
    @Setting public var format: Format
    @Setting public var engine: Engine
    public var postgres: Postgres

    init(_ declare: inout SettingDeclarations) {
      _level = declare.choice(
        "level", "info", among: ["trace", "debug", "info", "notice", "warning", "error", "critical"], named: \.self,
        "Least severe message that is logged.")
      _format = declare.choice("format", .text, "One line of text or one JSON object a message.")
      _engine = declare.choice(
        "engine", .sqlite,
        "What keeps the publications of `relaxed` and `durable` channels and the apps' records: a file in "
          + "`data.directory`, or a PostgreSQL server ([POSTGRESQL.md](POSTGRESQL.md)).")
      postgres = declare.section("postgres", Postgres.init)
    }
  }

  /// Where the apps' keys are.
  public struct Keys: Sendable, Equatable {
    @Setting public var masterFile: String

    init(_ declare: inout SettingDeclarations) {
      _masterFile = declare.text(
        "master_file", "",
        "File with the master key under which the apps' keys are kept in the log's database, so that each broker of a log in "
          + "PostgreSQL has them: 64 hexadecimal digits, for its owner alone. The first line wraps, further lines unwrap "
          + "([POSTGRESQL.md](POSTGRESQL.md#keys)). Empty: the keys are in files of `data.directory`.")
    }
  }
}
