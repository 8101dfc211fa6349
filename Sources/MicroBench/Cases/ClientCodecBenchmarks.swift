import Wire

extension MicroBenchmark {
  static let commandDecoding = [
    decode(.json, Samples.jsonPublish), decode(.protobuf, Samples.protobufPublish),
  ]

  private static func decode(_ format: WireFormat, _ message: [UInt8]) -> MicroBenchmark {
    MicroBenchmark(
      name: "decode-publish-\(format)", about: "one message with one publish command, 128 bytes of data"
    ) {
      // A benchmark that only refused messages would count too little.
      guard case .publish(let publish)? = try ClientCodec.decode(message, format: format).first?.body,
        publish.data == Samples.payload, publish.channel == Samples.channelName
      else { throw BrokenBenchmark("the sample is not read as a publish command") }
      return { iterations in
        for _ in 0..<iterations { keep(try? ClientCodec.decode(message, format: format)) }
      }
    }
  }

  static let publicationEncoding = WireFormat.allCases.map { format in
    MicroBenchmark(
      name: "encode-publication-\(format)", about: "the frame of one publication, 128 bytes of data and a publisher"
    ) {
      let push = ClientReply.push(.publication(channel: Samples.channelName, Samples.publication))
      return { iterations in
        for _ in 0..<iterations { keep(ClientCodec.frame(for: [push], format: format)) }
      }
    }
  }
}

/// The error of a benchmark that does not do what it is meant to count.
struct BrokenBenchmark: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}
