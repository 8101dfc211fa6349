// One of two people on a channel, the other of whom has another SDK (Tests/ConformanceTests/python/beside.py): publishes
// what it reads from standard input, and prints what it sees, a line of JSON each.
import { createInterface } from "node:readline";
import { Fanfare } from "../../../Sources/Web/fanfare.js";
import { WebSocket } from "./websocket.mjs";

const { SERVER_URL, TOKEN, CHANNEL } = process.env;
const say = (value) => console.log(JSON.stringify(value));

const client = new Fanfare(SERVER_URL, { WebSocket, token: TOKEN, timeout: 60_000 });
client.on("disconnected", (event) => say({ disconnected: event }));
const room = client.subscribe(CHANNEL, { recover: true, joinLeave: true });
room.on("subscribed", () => say({ subscribed: true }));
room.on("publication", ({ data, offset, info }) => say({ data, offset, user: info.user }));
room.on("join", ({ info }) => say({ join: info.user }));
client.connect();
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.publish !== undefined) await room.publish(command.publish, { key: command.key });
  if (command.presence) say({ presence: [...(await room.presence()).clients.values()].map(({ user }) => user).sort() });
}
client.disconnect();
