import Wire

extension MicroBenchmark {
  static let link = [
    MicroBenchmark(name: "link-encode-publish", about: "a gateway's publish request becomes bytes") {
      let request = try publishRequest()
      return { iterations in for _ in 0..<iterations { keep(request.bytes) } }
    },
    MicroBenchmark(name: "link-decode-publish", about: "the broker reads a gateway's publish request") {
      let request = try publishRequest()
      let bytes = request.bytes
      guard try LinkRequest(bytes: bytes) == request else { throw BrokenBenchmark("a request changes on the link") }
      return { iterations in for _ in 0..<iterations { keep(try? LinkRequest(bytes: bytes)) } }
    },
    MicroBenchmark(name: "link-encode-publication", about: "the broker's publication becomes bytes") {
      let publication = LinkPublication(channel: try Samples.channel(), publication: Samples.publication)
      return { iterations in for _ in 0..<iterations { keep(publication.bytes) } }
    },
    MicroBenchmark(name: "link-decode-publication", about: "a gateway reads a publication") {
      let publication = LinkPublication(channel: try Samples.channel(), publication: Samples.publication)
      let bytes = publication.bytes
      guard try LinkPublication(bytes: bytes) == publication else {
        throw BrokenBenchmark("a publication changes on the link")
      }
      return { iterations in for _ in 0..<iterations { keep(try? LinkPublication(bytes: bytes)) } }
    },
  ]

  static func publishRequest() throws -> LinkRequest {
    let publish = BrokerRequest.PublishRequest(
      channel: try Samples.channel(), data: Samples.payload, info: Samples.publisher)
    return LinkRequest(id: 1, oldestPending: 1, request: .publish(publish))
  }
}
