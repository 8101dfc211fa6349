import Auth
import NIOCore
import Wire

/// What a driver needs of the client's connection. Everything happens on its event loop.
protocol SessionTransport: Outlet {
  var eventLoop: any EventLoop { get }
  var format: WireFormat { get }
  /// How what is sent is wrapped, on tapes too.
  var packing: Packing { get }
  /// - Parameter frame: one whole plain WebSocket frame, which is wrapped as ``packing`` says.
  func send(_ frame: [UInt8])
  /// As ``send(_:)``, for what the client has not asked for just now: a client that does not take it is closed with 3008.
  func push(_ frame: [UInt8])
  /// Ends the connection after what was sent before. Calls the delegate's "closed" at once or later, once.
  func close(_ code: DisconnectCode)
  func pauseReading()
  func resumeReading()
  /// How far the peer has come with what was sent to it; nil where that cannot be told.
  var progress: PeerProgress? { get }
  /// The client's IP address, without a port.
  var remoteAddress: String { get }
  /// What was kept of the client's request for the backend.
  var forwardedHeaders: [BackendHeader] { get }
  /// Milliseconds for which the client's connection token is not to be checked yet; nil: too many wait already.
  func signInDelay() -> Int64?
  /// The client has said who it is, and was let in.
  func signedIn()
  /// Why the server closed the connection; nil while it is open and where the peer ended it.
  var closedBy: DisconnectCode? { get }
}

extension SessionTransport {
  var packing: Packing { .frames }
  func push(_ frame: [UInt8]) { send(frame) }
  var remoteAddress: String { "" }
  var forwardedHeaders: [BackendHeader] { [] }
  func signInDelay() -> Int64? { 0 }
  func signedIn() {}
  var closedBy: DisconnectCode? { nil }
}

/// The event loop's part of the gateway, as its sessions see it: the broker, the hub, the clock.
///
/// A host may answer a request before ``request(_:tag:terms:from:)`` returns; the driver keeps the order.
protocol SessionHost: AnyObject {
  /// Checks tokens of clients that sign in.
  var verifier: any TokenVerifier { get }
  /// Checks tokens of clients that are in.
  var otherVerifier: any TokenVerifier { get }
  /// Asked once more when a check of the verifier's has come back.
  var revocations: Revocations { get }
  /// Where tokens are checked; nil: on the threads that all tasks share.
  var checkExecutor: (any TaskExecutor)? { get }
  /// The way to the backend; nil: there is none.
  var proxies: ProxyCalls? { get }
  /// Now.
  var time: SessionTime { get }
  /// Calls ``SessionDriver/brokerAnswered(tag:_:)`` exactly once for each request, also after the transport is closed
  /// and also when the broker does not answer. Answers come in the order in which they stand among the publications.
  ///
  /// - Parameter terms: of a subscribe: what the broker does not hear of; nil: the client wants all as it comes.
  func request(_ request: BrokerRequest, tag: UInt64, terms: SubscribeTerms?, from driver: SessionDriver)
  /// The epoch for whoever subscribes to a shared poll now; nil: this gateway has none.
  func openPoll(_ channel: ChannelName) -> String?
  func track(_ ask: PollTrack, for driver: SessionDriver) -> PollTracked
  func untrack(_ keys: [String], _ number: UInt64, of channel: ChannelName, for driver: SessionDriver)
  /// The driver's subscription under this number is over: it tracks nothing more.
  func leavePoll(_ channel: ChannelName, _ number: UInt64, for driver: SessionDriver)
  /// A whole message of a client has come, whose commands follow.
  func frameRead()
  /// A command is put to the backend.
  ///
  /// - Returns: what is measured of it; nil: it is not measured.
  func beginBackendCall(_ question: ProxyQuestion) -> BackendCallTrace?
  /// Runs what a session does upon the backend's answer: what it publishes belongs to the call's trace.
  func resume(_ call: BackendCallTrace, _ goOn: () -> Void)
  /// No more requests come for now. The host may have kept them until here, so that a burst is handed on together.
  func requestsComplete()
  /// From now on, publications of the channel go to the driver's connection.
  func attach(_ driver: SessionDriver, to channel: ChannelName, _ flags: HubFlags, _ filters: HubFilters)
  /// From now on, nothing of the channel goes to the driver's connection; frames of it that are held are dropped.
  func detach(_ driver: SessionDriver, from channel: ChannelName)
  /// The driver's subscription to a channel has begun: for the file of intervals.
  func covers(_ driver: SessionDriver, _ channel: ChannelName, _ start: CoverageStart)
  /// It is about to end: the hub still knows how far it is.
  func uncovers(_ driver: SessionDriver, _ channel: ChannelName, _ end: CoverageEnd)
  /// A subscribe of the driver's was refused.
  func coverageRefused(_ driver: SessionDriver, _ channel: ChannelName, _ end: CoverageEnd)
  /// Writes what is held for this driver, in order, and holds no more.
  func releaseHeld(for driver: SessionDriver)
  /// Drops what is held for this driver, and holds no more.
  func discardHeld(for driver: SessionDriver)
  /// The user has one more connection. Each account that was opened is closed once.
  func openAccount(of user: String) -> AccountOpening
  func closeAccount(_ account: UserAccount)
  /// The client has said who it is, and was let in. ``closed(_:)`` comes once after it.
  func signedIn(_ driver: SessionDriver)
  /// A number for what a client's SDK calls itself; 0: none.
  func softwareNumber(of name: String, _ version: String) -> UInt16
  /// The client was refused something, or is read later.
  func note(_ cause: RefusalCause, from driver: SessionDriver)
  /// The client was not let in.
  ///
  /// - Parameters:
  ///   - cause: nil: a limit, which is noted as such besides.
  ///   - user: empty: it is not known who it is.
  func signInRefused(_ cause: SignInRefusal?, _ reason: String, user: String, _ driver: SessionDriver)
  /// The connection's own queue has gone out: what waits on tapes may follow.
  func drained(_ driver: SessionDriver)
  /// The connection has taken most of the answers that it got: it may have more.
  func relieved(_ driver: SessionDriver)
  /// Somebody's connection token has been checked, and the session goes on: at once, or when there is time for one more.
  func admit(_ goOn: @escaping () -> Void)
  /// The connection of somebody who was let in is gone. The host calls ``SessionDriver/leave()`` once, at once or when
  /// it has the time.
  func leaves(_ driver: SessionDriver)
  /// The session has ended with its connection: nobody waits any longer for what it asked for.
  func closed(_ driver: SessionDriver)
  /// The driver's last word: the transport is closed, and no answer that matters is under way. Comes once.
  func sessionEnded(_ driver: SessionDriver)
}

/// What becomes of one more connection of a user's.
enum AccountOpening {
  /// Users are not counted here.
  case none
  case opened(UserAccount)
  /// The user has as many as one may have.
  case full
}

extension SessionHost {
  var otherVerifier: any TokenVerifier { verifier }
  var checkExecutor: (any TaskExecutor)? { nil }
  var proxies: ProxyCalls? { nil }
  func openAccount(of user: String) -> AccountOpening { .none }
  func closeAccount(_ account: UserAccount) {}
  func frameRead() {}
  func signedIn(_ driver: SessionDriver) {}
  func softwareNumber(of name: String, _ version: String) -> UInt16 { 0 }
  func signInRefused(_ cause: SignInRefusal?, _ reason: String, user: String, _ driver: SessionDriver) {}
  func note(_ cause: RefusalCause, from driver: SessionDriver) {}
  func covers(_ driver: SessionDriver, _ channel: ChannelName, _ start: CoverageStart) {}
  func uncovers(_ driver: SessionDriver, _ channel: ChannelName, _ end: CoverageEnd) {}
  func coverageRefused(_ driver: SessionDriver, _ channel: ChannelName, _ end: CoverageEnd) {}
  func drained(_ driver: SessionDriver) {}
  func relieved(_ driver: SessionDriver) {}
  func admit(_ goOn: @escaping () -> Void) { goOn() }
  func leaves(_ driver: SessionDriver) { driver.leave() }
  func closed(_ driver: SessionDriver) {}
}

extension SessionHost {
  func openPoll(_ channel: ChannelName) -> String? { nil }
  func track(_ ask: PollTrack, for driver: SessionDriver) -> PollTracked { .refused(.notAvailable, .polledTrackings) }
  func untrack(_ keys: [String], _ number: UInt64, of channel: ChannelName, for driver: SessionDriver) {}
  func leavePoll(_ channel: ChannelName, _ number: UInt64, for driver: SessionDriver) {}
}

extension SessionHost {
  func beginBackendCall(_ question: ProxyQuestion) -> BackendCallTrace? { nil }
  func resume(_ call: BackendCallTrace, _ goOn: () -> Void) { goOn() }
}
