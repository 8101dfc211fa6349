import Logging
import Testing
import Wire

@testable import Admin

@Suite("The port for backends and operators")
struct AdminRoutesTests {
  private func routes(obstacles: [String] = []) -> AdminRoutes {
    AdminRoutes(
      api: nil, metrics: { AdminAnswer("text/plain", [0x31]) }, obstacles: { obstacles },
      logger: Logger(label: "test"))
  }

  private func status(_ routes: AdminRoutes, _ method: String, _ path: String) async -> Int {
    await routes.answer(AdminRequest(method: method, path: path)) { [] }.status
  }

  @Test(
    "each path says what it is, and what it is called with",
    arguments: [
      ("GET", "/health", 200), ("HEAD", "/health", 200), ("POST", "/health", 405), ("GET", "/ready", 200),
      ("GET", "/metrics", 200), ("GET", "/api/openapi.json", 200), ("GET", "/api/publish", 405),
      ("POST", "/api/publish", 404), ("GET", "/", 404), ("GET", "/../etc/passwd", 404),
    ])
  func paths(_ method: String, _ path: String, _ status: Int) async {
    #expect(await self.status(routes(), method, path) == status)
  }

  @Test("a server that cannot serve clients is not ready, and says why")
  func ready() async {
    let answer = await routes(obstacles: ["the broker is away"]).answer(
      AdminRequest(method: "GET", path: "/ready")
    ) { [] }
    #expect(answer == .sentence(503, "the broker is away"))
  }

  @Test("a key is shown in either header")
  func keys() {
    var request = AdminRequest(method: "POST", path: "/api/info")
    #expect(ServerAPI.shown(by: request) == nil)
    request.authorization = "apikey a"
    #expect(ServerAPI.shown(by: request) == "a")
    request.authorization = "ApiKey  a"
    #expect(ServerAPI.shown(by: request) == "a")
    request.authorization = "Bearer a"
    #expect(ServerAPI.shown(by: request) == nil)
    request.apiKey = "b"
    #expect(ServerAPI.shown(by: request) == "b")
  }
}
