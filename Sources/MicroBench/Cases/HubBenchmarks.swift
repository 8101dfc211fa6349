import CLinuxIO
import Gateway
import Wire

extension MicroBenchmark {
  static let hub = [
    MicroBenchmark(
      name: "hub-deliver", about: "a frame to one of 1000 channels with one subscriber each: looked up, taped, sent"
    ) {
      let probe = try FanOutProbe(channels: 1_000, subscribers: 1, session: .measured, encoding: Samples.publication)
      probe.deliver(100)
      return { iterations in probe.deliver(iterations) }
    },
    MicroBenchmark(
      name: "fanout-subscriber", about: "one delivery of a frame that goes to 1000 subscribers of one channel",
      iterations: 20_000
    ) {
      let probe = try FanOutProbe(channels: 1, subscribers: 1_000, session: .measured, encoding: Samples.publication)
      probe.deliver(2)
      return { iterations in probe.deliver((iterations + 999) / 1_000) }
    },
    MicroBenchmark(
      name: "fanout-subscriber-tls", about: "the same over TLS 1.3: the record of one delivery, sealed and sent",
      iterations: 20_000
    ) {
      let probe = try FanOutProbe(
        channels: 1, subscribers: 1_000, encrypts: true, session: .measured, encoding: Samples.publication)
      probe.deliver(2)
      return { iterations in probe.deliver((iterations + 999) / 1_000) }
    },
  ]
}
