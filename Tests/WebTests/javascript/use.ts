// Compiled by the tests with the types alone, and never run: what people write has to be what the types say.
import { Fanfare, FanfareError, MapView, TokenRefused, codes, filter, isOver, newKey, showPush } from "../../../Sources/Web/fanfare.js";
import type { Change, Conversation, Position, Publication } from "../../../Sources/Web/fanfare.js";

async function use(): Promise<void> {
  const fanfare = new Fanfare("wss://example.com/connection/websocket", {
    getToken: async () => { throw new TokenRefused(); }, name: "web", backoff: { maximum: 5000 },
  });
  fanfare.on("connecting", ({ code, reason }) => console.log(code, reason));
  fanfare.on("connected", ({ client }) => console.log(client));
  await fanfare.connect().ready();
  interface Line { text: string; }
  const room = fanfare.subscribe<Line>("chat:42", { recover: true, filter: filter.not(filter.eq("user", "ada")) });
  const off = room.on("publication", ({ data, offset }) => console.log(data.text.length, offset + 1));
  off();
  await (await room.ready()).publish({ text: "hi" }, { key: newKey() });
  for await (const publication of room) { const line: Publication<Line> = publication; console.log(line.data.text); }
  for await (const { data } of room.walk({ reverse: true })) console.log(data.text);
  const position: Position | null = room.position;
  const places = fanfare.map<{ x: number }>("places", { order: "ascending" });
  places.on("change", (change: Change<{ x: number }>) => console.log(change.data?.x, change.previous?.x));
  for (const [key, { x }] of places.view) console.log(key, x);
  const view: MapView<{ x: number }> = places.view;
  const { clients } = await fanfare.presence("chat:42");
  for (const [id, { user }] of clients) console.log(id, user, view.size);
  const list = fanfare.clique.list();
  const first: Conversation | undefined = list.view.at(0)?.data;
  const { conversation, waiting } = await fanfare.clique.send({ to: "bob", text: "hi" });
  await fanfare.clique.accept({ conversation });
  await fanfare.clique.group.create({ members: ["bob"] });
  fanfare.clique.chat(conversation, { since: position ?? undefined }).on("publication", ({ data }) => data.text?.length);
  const beach = await fanfare.clique.pictures.upload(new Blob([]));
  await fanfare.clique.send({ conversation, picture: { id: beach.id, hash: "LEHV6n" } });
  fanfare.clique.chat(conversation).on("publication", ({ data }) => { if (!isOver(data)) console.log(data.picture?.width); });
  await fanfare.clique.disappear(conversation, 86_400_000);
  const { changed } = await fanfare.clique.setProfile({ name: "Ann", fields: { university: null }, picture: null });
  for (const { user, name, fields, picture } of await fanfare.clique.findPeople("an")) console.log(user, name, fields, picture?.small);
  console.log(changed, fanfare.clique.people().view.get("bob")?.name, first?.disappear_asked?.after);
  await showPush({ withdraw: "a", app_badge: 1 });
  const { id } = await fanfare.state.pictures.upload(new Uint8Array(5), { onProgress: (done, total) => done / total });
  const { phase } = await fanfare.state.send({ to: "bob", front: id, rear: id });
  const { bytes, type } = await fanfare.state.pictures.download(id);
  await fanfare.push.register({ kind: "fcm", token: "t" }, { preview: "sender" });
  console.log(first?.last, waiting, phase, bytes.length, type, codes.inDoubt);
  try { await fanfare.rpc("m"); } catch (error) { if (error instanceof FanfareError) console.log(error.code, error.temporary); }
  // @ts-expect-error: an order that there is not
  fanfare.map("places", { order: "newest" });
  // @ts-expect-error: a message without text and picture
  await fanfare.clique.send({ to: "bob" });
  // @ts-expect-error: no such event
  room.on("publish", () => {});
}

void use;
