import Coverage
import Logging
import Settings
import Vault

/// The file of intervals from which `fanfare why` is answered, from the settings.
enum CoverageSetup {
  /// - Returns: nil where none is kept, or its file cannot be used: then everything but `why` goes on.
  static func store(for settings: Settings, clock: ClockKeeper, logger: Logger) -> CoverageStore? {
    guard settings.why.enabled else { return nil }
    let folder = settings.data.directory
    var options = CoverageStore.Options(
      keepMilliseconds: settings.why.keep.milliseconds, maximumBytes: Int64(settings.why.maxBytes))
    // As the sessions say when they began and ended.
    options.now = { clock.unmoved() }
    do {
      return try CoverageStore(folder: folder, options: options, logger: logger)
    } catch {
      logger.warning(
        "'fanfare why' will know nothing of this gateway, its file in \(folder) cannot be used: \(error)")
      return nil
    }
  }
}
