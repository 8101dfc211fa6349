import Dispatch
import Glibc
import Synchronization

/// Whether the process was told to stop (SIGTERM, SIGINT), for what waits on a thread before the server is up.
///
/// `ServiceGroup` traps these signals and tells tasks of them, which a wait on a thread is not, and on a machine with one
/// core no task runs beside it.
final class StopSignals: Sendable {
  private let flag = Flag()
  private let sources: [any DispatchSourceSignal]

  private final class Flag: Sendable {
    let isRaised = Atomic<Bool>(false)
  }

  init() {
    sources = [SIGTERM, SIGINT].map { [flag] number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { flag.isRaised.store(true, ordering: .relaxed) }
      source.resume()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }

  var isRaised: Bool { flag.isRaised.load(ordering: .relaxed) }
}
