/// Why the public port could not be opened. The description tells the operator what to change.
public enum ListenerError: Error, Sendable, Equatable, CustomStringConvertible {
  case addressInUse(host: String, port: Int)
  case addressNotAvailable(host: String)
  case permissionDenied(port: Int)
  case hostNotFound(host: String)
  case invalidPort(Int)
  case noEventLoops
  case pictureFolder(String, String)
  /// The store of pictures cannot be used; with a sentence.
  case pictureStore(String)
  case system(call: String, errno: Int32)

  public var description: String {
    switch self {
    case .addressInUse(let host, let port):
      "port \(port) on \(host) is taken by another program; stop it or choose another port"
    case .addressNotAvailable(let host):
      "\(host) is not an address of this machine; listen on 0.0.0.0, :: or one of its own addresses"
    case .permissionDenied(let port):
      "this user may not open port \(port); choose a port from 1024 up, or grant CAP_NET_BIND_SERVICE"
    case .hostNotFound(let host): "the name \(host) does not resolve to an address; write an IP address instead"
    case .invalidPort(let port): "\(port) is not a port; choose one from 0 (any free one) to 65535"
    case .noEventLoops: "the listener was given no event loop; give it at least one"
    case .pictureFolder(let path, let error):
      "the folder \(path) for pictures cannot be used (\(error)); make it, and let this user write in it"
    case .pictureStore(let sentence): sentence
    case .system(let call, let errno): "\(call) failed with error \(errno) while the public port was opened"
    }
  }
}
