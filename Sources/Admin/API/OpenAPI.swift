/// The description of the server API for programs that make clients and documentation of it.
enum OpenAPI {
  /// The document, as `docs/openapi.json` has it.
  static let document = Array(text.utf8)
}
