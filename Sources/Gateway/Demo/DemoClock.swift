import Auth
import NIOHTTP1
import Synchronization
import Wire

/// The clock of a test server, which the demo's page moves forward.
public protocol DemoClock: Sendable {
  var moment: DemoMoment { get }

  /// Moves the time forward. May wait for the disk.
  ///
  /// - Returns: the time then.
  /// - Throws: a sentence for whoever asked; nothing has moved then.
  func advance(by milliseconds: Int64) throws(DemoClockRefusal) -> DemoMoment
}

/// What a clock that can be moved says.
public struct DemoMoment: Sendable, Equatable {
  /// Milliseconds by which it was moved.
  public var offset: Int64
  /// Milliseconds since 1970, with `offset`.
  public var now: Int64

  public init(offset: Int64, now: Int64) {
    self.offset = offset
    self.now = now
  }
}

/// Why the clock was not moved, as a sentence.
public struct DemoClockRefusal: Error, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}

extension DemoService {
  /// What `GET /demo/clock` answers; nil where the clock cannot be moved.
  func clockReply() -> HTTPReply? { configuration.clock.map { Self.clockReply($0.moment) } }

  private static func clockReply(_ moment: DemoMoment) -> HTTPReply {
    json(.ok, "{\"offset\":\(moment.offset),\"now\":\(moment.now)}")
  }

  /// Moves the clock, in the name of somebody who is signed in on the demo's page.
  ///
  /// - Parameters:
  ///   - token: one of the demo's; nobody else's moves the clock.
  ///   - address: whose request it counts as.
  ///   - now: milliseconds of a clock that never goes back.
  func moveClock(_ body: [UInt8], token: String, from address: IPAddress?, at now: Int64) async -> HTTPReply {
    guard let clock = configuration.clock else { return Self.noClock }
    guard moves.withLock({ $0.take(for: address?.limited, at: now) }) else { return Self.tooOften }
    guard let claims = await configuration.tokens.holder(of: token), !isRevoked(claims) else {
      return Self.unauthorized("sign in again: this token is none of the demo's, or it has ended")
    }
    guard let milliseconds = (try? JSONValue(parsing: body))?.object?["advance"].flatMap({ Int64($0.text) }) else {
      return Self.refused(.badRequest, "send by how many milliseconds, such as {\"advance\":3600000}")
    }
    do throws(DemoClockRefusal) { return Self.clockReply(try clock.advance(by: milliseconds)) } catch {
      return Self.refused(.unprocessableEntity, "\(error)")
    }
  }

  static let noClock = refused(.notFound, "this server's clock cannot be moved; demo.clock says so")

  static func unauthorized(_ sentence: String) -> HTTPReply {
    var reply = refused(.unauthorized, sentence)
    reply.headers.append(("WWW-Authenticate", "Bearer"))
    return reply
  }
}
