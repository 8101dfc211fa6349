/// A file that one of the two ports serves to browsers.
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
  /// The files of the demo, each under `/demo/`, which only a server with the demo switched on serves.
  public static let demo = EmbeddedWebFiles.demo.map { file("/demo/\($0.name)", of: $0) }

  /// The files of the web console, each under `/console/`, on the port for backends and operators. Two of them are the
  /// demo's.
  public static let console =
    EmbeddedWebFiles.console.map { file("/console/\($0.name)", of: $0) }
    + EmbeddedWebFiles.demo.compactMap { embedded in
      shared[embedded.name].map { file("/console/\($0)", of: embedded) }
    }

  /// The demo's files that the console has too, by the name that they have there.
  static let shared = ["ui.js": "ui.js", "demo.css": "base.css"]

  private static func file(_ path: String, of embedded: (name: String, digest: String, text: String)) -> WebFile {
    WebFile(
      path: path, contentType: contentType(of: embedded.name), tag: "\"\(embedded.digest)\"", text: embedded.text)
  }

  /// By the end of the name, of which `Sources/Web/embed` lets no other through.
  private static func contentType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "json": "application/json"
    case "svg": "image/svg+xml"
    default: "text/plain; charset=utf-8"
    }
  }
}
