/// A file that the public port serves to browsers.
public struct WebFile: Sendable {
  /// As in a request, such as `/fanfare.js`.
  public let path: String
  public let contentType: String
  /// The entity tag, with its quotes: another one for other contents (RFC 9110, section 8.8.3).
  public let tag: String
  public let text: String
}

/// The client for browsers and its types. They are in the binary, so that a server serves the client that speaks as it
/// does, and there is no folder that could be missing.
public enum WebFiles {
  public static let all = [
    WebFile(
      path: "/fanfare.js", contentType: "text/javascript; charset=utf-8",
      tag: "\"\(EmbeddedWebFiles.scriptDigest)\"", text: EmbeddedWebFiles.script),
    WebFile(
      path: "/fanfare.d.ts", contentType: "application/typescript; charset=utf-8",
      tag: "\"\(EmbeddedWebFiles.typesDigest)\"", text: EmbeddedWebFiles.types),
  ]
}
