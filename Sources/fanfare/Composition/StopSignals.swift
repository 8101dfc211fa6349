import Dispatch
import Glibc
import Synchronization

/// Whether the process was told to stop (SIGTERM, SIGINT), for what waits on a thread before the server is up.
///
/// `ServiceGroup` traps these signals and tells tasks of them, which a wait on a thread is not, and on a machine with one
/// core no task runs beside it.
final class StopSignals {
  final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { value.load(ordering: .relaxed) }

    func raise() { value.store(true, ordering: .relaxed) }
  }

  let flag = Flag()
  private var sources: [any DispatchSourceSignal] = []

  init() {
    for number in [SIGTERM, SIGINT] {
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [flag] in flag.raise() }
      source.resume()
      sources.append(source)
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }
}
