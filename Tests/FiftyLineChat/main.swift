import FanfareClient
import Foundation

struct Line: Codable { var text: String }

func show(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

guard CommandLine.arguments.count == 4 else {
  show("usage: chat URL TOKEN CHANNEL")
  exit(2)
}
let (url, token, channel) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
let client = try RealtimeClient(url: url, token: token)
let chat = try await client.subscribe(channel, .init(recoverable: true, joinLeave: true))

Task {
  for await state in await client.states() {
    if case .connected = state { show("* online") }
    if case .disconnected(let code, willReconnect: true) = state { show("* offline: \(code.reason)") }
  }
}
Task {
  for await event in chat.events {
    switch event {
    case .subscribed: show("* in \(channel)")
    case .publication(let publication):
      guard let line = try? publication.decode(Line.self) else { continue }
      show("\(publication.info?.user ?? "somebody"): \(line.text)")
    case .join(let info): show("* \(info.user) is here")
    case .leave(let info): show("* \(info.user) has gone")
    case .unsubscribed(let code): show("* the end: \(code.reason)")
    case .subscribing, .gap: break
    }
  }
}

let lines = AsyncStream<String> { lines in
  Thread.detachNewThread {
    while let line = readLine() { lines.yield(line) }
    lines.finish()
  }
}
try await client.connect()
for await text in lines where !text.isEmpty {
  do { try await client.publish(Line(text: text), to: channel, idempotencyKey: RealtimeClient.newKey()) } catch {
    show("* not sent: \(error)")
  }
}
await client.disconnect()
