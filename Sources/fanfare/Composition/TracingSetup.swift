import Broker
import Gateway
import Settings
import Telemetry
import ZeroMQ

/// What is measured of publications and told to a collector, from the settings.
struct TracingSetup: Sendable {
  /// Nil: nothing is measured.
  let recorder: HopRecorder?
  /// For each event loop, and for services.
  let sampler: HopSampler

  init(_ settings: Settings, exporter: SpanExporter?) {
    let (every, traced) = (settings.metrics.sampleEvery, exporter == nil ? 0 : settings.tracing.sampleEvery)
    sampler = HopSampler(measureEvery: every, traceEvery: traced)
    let isOn = every > 0 || exporter != nil
    recorder = isOn ? HopRecorder(clock: { MonotonicClock.now() }, exporter: exporter) : nil
  }

  func apply(to configuration: inout GatewayConfiguration) {
    configuration.measuring = recorder
    configuration.sampler = sampler
  }

  func apply(to core: BrokerCore) {
    core.hops = recorder.map { BrokerHops($0, services: sampler) }
  }
}
