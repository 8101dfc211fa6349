import Foundation
import TestSupport
import Wire

@testable import Coverage
@testable import Gateway

/// What a world keeps where somebody asks why: the gateways' real files of intervals, and beside them the bytes that
/// really went to each socket, from which nothing of the gateways' own knowledge is taken.
final class WhyLedger {
  struct Place: Hashable {
    var channel: ChannelName
    var epoch: String
    var offset: UInt64
  }

  struct Socket {
    let socket: SimulatedSocket
    let client: String
    /// The channel for which the client asks by itself; empty: it asks for none.
    let own: String
    let gateway: Int
    /// The process of its gateway died, by the number of deaths before.
    let life: Int
  }

  private let folders: [TemporaryFolder]
  /// Unchecked: a simulation has one thread.
  private final class Files: @unchecked Sendable { var files: [CoverageFile] = [] }
  private let files = Files()
  private var now: Int64 = 0
  private(set) var lives = [0, 0]
  private(set) var sockets: [Socket] = []
  private(set) var publications: [Place: Publication] = [:]
  /// Where a payload stands: clients are not told offsets on channels without history.
  private(set) var places: [[UInt8]: [Place]] = [:]
  private(set) var epochs: [ChannelName: [String]] = [:]

  init() throws {
    folders = [try TemporaryFolder(), try TemporaryFolder()]
    for folder in folders { files.files.append(try CoverageFile(folder: folder.path, now: 0)) }
  }

  func sink(of gateway: Int) -> CoverageSink {
    let files = files
    return CoverageSink(
      record: { record in
        do { try files.files[gateway].write([record], at: 0) } catch { preconditionFailure("\(error)") }
      },
      find: { query, then in then((try? files.files[gateway].find(query)) ?? CoverageSink.Found(keptSince: .max)) })
  }

  /// A gateway's process dies: its successor opens the file.
  func died(_ gateway: Int, at time: Int64) {
    lives[gateway] += 1
    do {
      try files.files[gateway].close()
      let former = files.files[gateway].path
      files.files.remove(at: gateway)
      files.files.insert(try CoverageFile(folder: folders[gateway].path, now: time), at: gateway)
      // The lock of the former file went with it.
      precondition(files.files[gateway].path == former)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  func opened(_ socket: SimulatedSocket, of client: SimulatedClient) {
    sockets.append(
      Socket(
        socket: socket, client: client.name, own: client.feeds.first { !$0.isGranted }?.channel.string ?? "",
        gateway: client.gateway, life: lives[client.gateway]))
  }

  func published(_ publication: Publication, on channel: ChannelName, _ epoch: String) {
    let place = Place(channel: channel, epoch: epoch, offset: publication.offset)
    publications[place] = publication
    places[publication.data, default: []].append(place)
    if epochs[channel]?.last != epoch { epochs[channel, default: []].append(epoch) }
  }

  private var truths: [UInt64: (issued: Int, written: Int, truth: WhyTruth)] = [:]

  /// What a connection was sent until now: read anew where there is more of it.
  func truth(of socket: Socket) -> WhyTruth {
    let (issued, written) = (socket.socket.stream.count, socket.socket.writtenBytes)
    if let known = truths[socket.socket.id], known.issued == issued, known.written == written { return known.truth }
    let truth = WhyTruth(socket)
    truths[socket.socket.id] = (issued, written, truth)
    return truth
  }

  func found(_ gateway: Int, _ query: CoverageQuery, live: [LiveCoverage]) -> CoverageFindings {
    CoverageFindings((try? files.files[gateway].find(query)) ?? CoverageSink.Found(keptSince: .max), live: live)
  }
}
