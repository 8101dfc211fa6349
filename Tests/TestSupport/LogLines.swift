public import Logging
import Synchronization

/// Keeps log lines for a test to read.
public final class LogLines: LogHandler {
  private let lines = Mutex<[String]>([])

  public init() {}

  /// The lines: level, message, and fields sorted by their names, such as `info who came user=ann`.
  public var all: [String] { lines.withLock { $0 } }

  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
  public var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  public var logLevel: Logger.Level {
    get { .trace }
    set {}
  }

  public func log(event: LogEvent) {
    let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    lines.withLock { $0.append("\(event.level) \(event.message)\(fields)") }
  }
}
