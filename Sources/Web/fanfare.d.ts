// Types of fanfare.js. What each call does stands in docs/JAVASCRIPT.md. Times are milliseconds.

/** Anything that JSON can hold; give a type of your own where you know it. */
export type Json = unknown;

export declare const codes: Readonly<{
  disconnectCalled: 0; unauthorized: 1; badProtocol: 2; messageTooLarge: 3; connectionLost: 4; noPing: 5; timedOut: 6;
  tokenUnavailable: 7; noTransport: 8; slowReader: 9; tooManyCalls: 10; notConnected: 11; queueFull: 12; inDoubt: 13;
  cancelled: 14; unsubscribeCalled: 15; badCall: 16; pictures: 17; keptTooLong: 18;
}>;

/** What went wrong, as a sentence that says what to do. */
export declare class FanfareError extends Error {
  constructor(code: number, message: string, options?: { temporary?: boolean; status?: number });
  /** The server's code (docs/PROTOCOL.md), or one of `codes`. */
  code: number;
  /** The same again, after a moment, may succeed. */
  temporary: boolean;
  /** HTTP status, of pictures. */
  status?: number;
}

/** Throw it from a `getToken` to say that there is no token for this user. */
export declare class TokenRefused extends Error {
  constructor(message?: string);
}

// Publications and positions

export interface Position { epoch: string; offset: number; }

export interface ClientInfo { user: string; client: string; connInfo?: Json; chanInfo?: Json; }

export interface Publication<Data = any> {
  channel: string;
  data: Data;
  /** 0 on channels without history. */
  offset: number;
  /** Of the client that published; undefined where a service did. */
  info?: ClientInfo;
  tags: Record<string, string>;
  /** When it was published; 0 where the server did not say. */
  time: number;
}

export interface Entry<Data = any> extends Publication<Data> { key: string; removed: boolean; score: number; }

export interface Change<Data = any> {
  key: string;
  /** undefined where the key was removed. */
  data: Data | undefined;
  /** undefined where the key was not there before. */
  previous: Data | undefined;
  removed: boolean;
  entry: Entry<Data>;
}

export interface Page<Data = any> extends Position { publications: Publication<Data>[]; }
export interface MapPage<Data = any> extends Position { entries: Entry<Data>[]; cursor?: string; }
export interface Presence { clients: Map<string, ClientInfo>; partial: boolean; }
export interface PresenceStats { clients: number; users: number; }

// Filters on tags

export type FilterNode =
  | { key: string; cmp: string; val?: string; vals?: string[] }
  | { op: "and" | "or" | "not"; nodes: FilterNode[] };

export declare const filter: Readonly<{
  eq(key: string, val: string): FilterNode;
  neq(key: string, val: string): FilterNode;
  in(key: string, vals: string[]): FilterNode;
  nin(key: string, vals: string[]): FilterNode;
  exists(key: string): FilterNode;
  missing(key: string): FilterNode;
  startsWith(key: string, val: string): FilterNode;
  endsWith(key: string, val: string): FilterNode;
  contains(key: string, val: string): FilterNode;
  gt(key: string, val: number | string): FilterNode;
  gte(key: string, val: number | string): FilterNode;
  lt(key: string, val: number | string): FilterNode;
  lte(key: string, val: number | string): FilterNode;
  and(...nodes: FilterNode[]): FilterNode;
  or(...nodes: FilterNode[]): FilterNode;
  not(node: FilterNode): FilterNode;
}>;

// Events

/** Takes a listener away again. */
export type Off = () => void;

declare class Emitter<Events> {
  on<Name extends keyof Events>(name: Name, f: (event: Events[Name]) => void): Off;
  once<Name extends keyof Events>(name: Name, f: (event: Events[Name]) => void): Off;
  off<Name extends keyof Events>(name: Name, f: (event: Events[Name]) => void): void;
}

export interface Reason { code: number; reason: string; }

export interface Subscribed {
  channel: string;
  position: Position | null;
  recoverable: boolean;
  positioned: boolean;
  /** The subscription went on from a position. */
  wasRecovering: boolean;
  /** Nothing is missing since that position; else read the channel anew. */
  recovered: boolean;
  data?: Json;
}

export interface SubscriptionEvents<Data = any> {
  publication: Publication<Data>;
  join: { channel: string; info: ClientInfo };
  leave: { channel: string; info: ClientInfo };
  subscribing: { channel: string } & Reason;
  subscribed: Subscribed;
  unsubscribed: { channel: string } & Reason;
  /** The server refused for now; the client tries again. */
  error: { channel: string; error: FanfareError };
}

export interface MapEvents<Data = any> extends SubscriptionEvents<Data> {
  change: Change<Data>;
  /** The server has said in which order the map stands. */
  order: { channel: string; order: MapOrder };
}

export interface ClientEvents {
  connecting: Reason;
  connected: { client: string; version: string; data?: Json };
  disconnected: Reason;
  /** A `getToken` failed; it is asked again. */
  error: { error: unknown };
  message: { data: Json };
  // Of subscriptions that the server made:
  publication: Entry;
  join: { channel: string; info: ClientInfo };
  leave: { channel: string; info: ClientInfo };
  subscribed: Subscribed;
  unsubscribed: { channel: string } & Reason;
}

// Subscriptions

export type SubscriptionState = "subscribing" | "subscribed" | "unsubscribed";

export interface CommonOptions {
  filter?: FilterNode;
  token?: string;
  getToken?: (context: { channel: string }) => string | Promise<string>;
  data?: Json;
  /** Events that may wait for a `for await` loop; 1000 unless it is given. */
  waiting?: number;
}

export interface SubscribeOptions extends CommonOptions {
  /** Keeps the position, and after a lost connection brings what was missed. */
  recover?: boolean;
  /** Begins behind this position. */
  since?: Position;
  positioned?: boolean;
  joinLeave?: boolean;
}

export type MapOrder = "key" | "ascending" | "descending";

export interface MapOptions extends CommonOptions {
  /** The channel's `map_order`; without it, what the first two entries show. */
  order?: MapOrder;
  /** Turns the order around. */
  reverse?: boolean;
  pageSize?: number;
  maximumEntries?: number;
}

export interface CallOptions { signal?: AbortSignal; }
export interface PublishOptions extends CallOptions { key?: string; }
export interface HistoryOptions extends CallOptions { limit?: number; since?: Position; reverse?: boolean; }
export interface WalkOptions extends CallOptions { since?: Position; reverse?: boolean; pageSize?: number; }
export interface MapPageOptions extends CallOptions { limit?: number; cursor?: string; reverse?: boolean; }
export interface Keyed { key: string; lane: string; lifetime: number; }
export interface RpcOptions extends CallOptions { keyed?: Keyed; after?: string; }

declare class BaseSubscription<Data, Events, Item> extends Emitter<Events> implements AsyncIterable<Item> {
  readonly client: Fanfare;
  readonly channel: string;
  readonly state: SubscriptionState;
  readonly position: Position | null;
  subscribe(options?: { since?: Position }): this;
  unsubscribe(): void;
  ready(): Promise<this>;
  publish(data: Data, options?: PublishOptions): Promise<void>;
  history(options?: HistoryOptions): Promise<Page<Data>>;
  walk(options?: WalkOptions): AsyncGenerator<Publication<Data>, void>;
  presence(options?: CallOptions): Promise<Presence>;
  presenceStats(options?: CallOptions): Promise<PresenceStats>;
  edit(offset: number, data: Data, options?: CallOptions): Promise<{ offset: number }>;
  delete(offset: number, options?: CallOptions): Promise<{ offset: number }>;
  [Symbol.asyncIterator](): AsyncIterator<Item>;
}

export declare class Subscription<Data = any>
  extends BaseSubscription<Data, SubscriptionEvents<Data>, Publication<Data>> {}

export declare class MapSubscription<Data = any> extends BaseSubscription<Data, MapEvents<Data>, Change<Data>> {
  readonly view: MapView<Data>;
  /** The answer has no `offset` where the value waits for `publish_interval`. */
  set(key: string, data: Data, options?: CallOptions & { score?: number }): Promise<{ offset?: number }>;
  remove(key: string, options?: CallOptions): Promise<{ offset?: number }>;
}

export declare class MapView<Data = any> implements Iterable<[string, Data]> {
  constructor(options?: { order?: MapOrder; reverse?: boolean });
  readonly size: number;
  readonly order: MapOrder;
  readonly reverse: boolean;
  /** The order is known, and not only assumed. */
  readonly hasOrder: boolean;
  has(key: string): boolean;
  get(key: string): Data | undefined;
  entry(key: string): Entry<Data> | undefined;
  at(index: number): Entry<Data> | undefined;
  keys(): IterableIterator<string>;
  values(): IterableIterator<Data>;
  entries(): IterableIterator<[string, Data]>;
  [Symbol.iterator](): IterableIterator<[string, Data]>;
  forEach(f: (data: Data, key: string, view: MapView<Data>) => void, self?: unknown): void;
  apply(entry: { key: string; data?: Data; score: number; removed?: boolean }): Change<Data> | null;
  replace(entries: { key: string; data?: Data; score: number }[]): Change<Data>[];
  learn(entries: { key: string; score: number }[]): boolean;
}

// The client

/** As much of a WebSocket as the client needs: that of browsers, of Node 22, and of the package ws. */
export interface WebSocketLike {
  onopen: any;
  onmessage: any;
  onerror: any;
  onclose: any;
  send(text: string): void;
  close(): void;
}

export interface FanfareOptions {
  token?: string;
  /** Gives the connection token: at first, where `token` is not given, and whenever it expires. */
  getToken?: () => string | Promise<string>;
  /** One's own user id, for the channels of Clique and State; without it, that of the token. */
  user?: string;
  name?: string;
  version?: string;
  /** For your backend, where it decides about connections (docs/PROXIES.md). */
  data?: Json;
  WebSocket?: new (url: string) => WebSocketLike;
  fetch?: typeof fetch;
  /** Where pictures of State are, `/state/pictures`, and those of Clique, `/clique/pictures`. */
  picturesUrl?: string;
  cliquePicturesUrl?: string;
  /** For connecting, and for each answer; 10,000. */
  timeout?: number;
  /** For a `getToken`; 30,000. */
  tokenTimeout?: number;
  /** How much later than announced a ping may come; 10,000. */
  pingDelay?: number;
  backoff?: { minimum?: number; maximum?: number };
  /** Failures in a row after which the client gives up; never, unless it is given. */
  maximumReconnects?: number;
  /** Calls without a key that may wait for their answers; 1024. */
  maximumCalls?: number;
  /** Calls with a key that may wait to be sent; 1000. */
  maximumQueued?: number;
  /** Bytes of these; 4 MiB. */
  maximumQueuedBytes?: number;
  /** How long a call with a key waits for a connection; a day. */
  keepFor?: number;
  /** The server's `client.max_message_bytes`; 64 KiB. */
  maximumMessageBytes?: number;
  /** Commands in one message; 128. */
  commandsPerMessage?: number;
  /** 16 MiB. */
  maximumPictureBytes?: number;
  /** In 0..<1, for the delays. */
  random?: () => number;
}

export declare class Fanfare extends Emitter<ClientEvents> {
  constructor(url: string | URL, options?: FanfareOptions);
  readonly url: string;
  readonly connectionState: "disconnected" | "connecting" | "connected";
  readonly clientId: string;
  readonly user: string;
  readonly clique: Clique;
  readonly state: State;
  readonly push: Push;
  connect(): this;
  disconnect(): void;
  ready(): Promise<this>;

  subscribe<Data = any>(channel: string, options?: SubscribeOptions): Subscription<Data>;
  map<Data = any>(channel: string, options?: MapOptions): MapSubscription<Data>;
  subscription(channel: string): Subscription | MapSubscription | undefined;

  publish(channel: string, data: Json, options?: PublishOptions): Promise<void>;
  history<Data = any>(channel: string, options?: HistoryOptions): Promise<Page<Data>>;
  walk<Data = any>(channel: string, options?: WalkOptions): AsyncGenerator<Publication<Data>, void>;
  presence(channel: string, options?: CallOptions): Promise<Presence>;
  presenceStats(channel: string, options?: CallOptions): Promise<PresenceStats>;
  rpc<Answer = any>(method: string, data?: Json, options?: RpcOptions): Promise<Answer>;
  edit(channel: string, offset: number, data: Json, options?: CallOptions): Promise<{ offset: number }>;
  delete(channel: string, offset: number, options?: CallOptions): Promise<{ offset: number }>;
  mapEntry<Data = any>(channel: string, key: string, options?: CallOptions): Promise<Entry<Data> | undefined>;
  mapPage<Data = any>(channel: string, options?: MapPageOptions): Promise<MapPage<Data>>;
  delivered(channel: string, offset: number, options?: CallOptions): Promise<{}>;
  read(channel: string, offset: number, options?: CallOptions): Promise<{}>;
  unread(channels: string[], options?: CallOptions): Promise<Record<string, number>>;
  accountData(options?: CallOptions): Promise<any>;
  accountExport(cursor?: string, options?: CallOptions): Promise<{ items: any[]; cursor?: string }>;
  accountDelete(user: string, options?: CallOptions): Promise<{ state: string; since: number }>;
}

// Pictures, of Clique and of State

export interface PictureOptions {
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

export interface Pictures {
  readonly url: string;
  /** `partBytes`: how much goes out in one request, rounded up to 64 KiB; without it, all. `bytes` is what was sent. */
  upload(
    body: Blob | ArrayBuffer | ArrayBufferView, options?: PictureOptions & { id?: string; partBytes?: number },
  ): Promise<{ id: string; bytes: number }>;
  progress(id: string, options?: CallOptions): Promise<number>;
  discard(id: string, options?: CallOptions): Promise<void>;
  download(id: string, options?: PictureOptions): Promise<{ bytes: Uint8Array; type: string; etag: string | null }>;
}

// Clique

/** A person's id, or one of the two. */
export type Who = string | { person: string } | { conversation: string };

export interface Conversation {
  conversation: string;
  with?: string;
  group?: true;
  name?: string;
  members?: string[];
  admins?: string[];
  state: "request_out" | "request_in" | "active" | "ended" | "blocked";
  last?: string;
  from?: string;
  /** The last message has a picture. */
  picture?: true;
  /** When the last message is gone, in place of `last`. */
  expires?: number;
  /** After how long messages disappear. */
  disappear?: number;
  /** What one of two has proposed; 0 for messages that stay. */
  disappear_asked?: { after: number; by: string };
  time: number;
  unread?: number;
  read?: number;
  messages?: { text: string; time: number; key?: string }[];
  crossing?: { place: string; time: number };
  muted?: true;
  archived?: true;
  pinned?: number;
}

export interface Message {
  text?: string;
  key?: string;
  reply?: number;
  /** Of a message that waited in a request. */
  from?: string;
  sent?: number;
  picture?: MessagePicture;
  /** When the message is gone. */
  expires?: number;
  /** Of a change of the conversation; then there is no text. */
  event?: "added" | "removed" | "appointed" | "dismissed" | "joined" | "left" | "renamed" | "disappear";
  user?: string;
  name?: string;
  /** Of `disappear`; 0 for messages that stay. */
  after?: number;
}

/** What the server has measured, and the `hash` as it was sent. */
export interface MessagePicture {
  id: string;
  type: string;
  bytes: number;
  width: number;
  height: number;
  hash?: string;
}

/** `small` is one of its own, for lists. */
export interface ProfilePicture { id: string; small?: string; }

export interface Profile {
  user: string;
  name?: string;
  fields?: Record<string, string>;
  picture?: ProfilePicture;
}

/** What it names is changed; "" and null remove. */
export interface ProfileChange {
  name?: string | null;
  fields?: Record<string, string | null>;
  picture?: ProfilePicture | null;
}

/** Whether a message has disappeared, by this device's clock. */
export declare function isOver(message: { expires?: number } | null | undefined, now?: number): boolean;

/** A picture that was uploaded; others draw the `hash` until it is there. */
export interface SentPicture { id: string; hash?: string; }

/** With a text, a picture, or both. */
export type NewMessage = CallOptions & {
  to?: string;
  person?: string;
  conversation?: string;
  reply?: number;
  mentions?: string[];
  /** Drawn by the client where it is not given. */
  key?: string;
} & ({ text: string; picture?: SentPicture } | { text?: string; picture: SentPicture });

export interface Crossing {
  user: string;
  seen: number;
  total: number;
  together: boolean;
  latest: { place: string; time: number; minutes: number }[];
}

export interface Totals { conversations: number; messages: number; requests: number; }
export interface InConversation { conversation: string; }
export interface GroupLink { link: string; id: string; ends: number; }
export interface FoundMessage { channel: string; offset: number; time: number; user: string; data: Message; }
export type ReportReason = "spam" | "harassment" | "threat" | "nudity" | "minor" | "impersonation" | "other";

export interface Report {
  report: string;
  user: string;
  conversation: string;
  offset?: number;
  reason: ReportReason;
  text?: string;
  time: number;
  state: "open" | "settled";
}

export interface Clique {
  readonly pictures: Pictures;
  readonly group: Readonly<{
    create(group: { members: string[]; name?: string; key?: string }): Promise<InConversation>;
    leave(conversation: string): Promise<{}>;
    add(conversation: string, members: string[]): Promise<{}>;
    remove(conversation: string, person: string): Promise<{}>;
    rename(conversation: string, name: string): Promise<{}>;
    appoint(conversation: string, person: string): Promise<{}>;
    dismiss(conversation: string, person: string): Promise<{}>;
    link(conversation: string, options?: { lifetime?: number; uses?: number }): Promise<GroupLink>;
    links(conversation: string): Promise<{ id: string; by: string; ends: number; uses?: number }[]>;
    /** Without `id` all of them. */
    revoke(conversation: string, id?: string): Promise<{}>;
    join(link: string): Promise<InConversation>;
  }>;
  call<Answer = any>(method: string, data: Json, options?: RpcOptions): Promise<Answer>;
  send(message: NewMessage): Promise<InConversation & { offset?: number; waiting?: number }>;
  accept(who: Who): Promise<InConversation>;
  decline(who: Who): Promise<InConversation>;
  disconnect(who: Who): Promise<InConversation>;
  block(who: Who): Promise<{}>;
  unblock(who: Who): Promise<{}>;
  read(conversation: string, offset: number): Promise<{}>;
  delivered(conversation: string, offset: number): Promise<{}>;
  typing(conversation: string): Promise<{}>;
  keep(conversation: string, what: { muted?: boolean; archived?: boolean; pinned?: boolean }): Promise<{}>;
  draft(conversation: string, text: string, options?: { reply?: number }): Promise<{}>;
  react(conversation: string, offset: number, reaction: string): Promise<{}>;
  edit(conversation: string, offset: number, text: string): Promise<{ offset: number }>;
  remove(conversation: string, offset: number): Promise<{ offset: number }>;
  /** `after` in milliseconds; 0 for never. */
  disappear(conversation: string, after: number): Promise<{}>;
  totals(): Promise<Totals>;
  report(who: Who, what: { reason: ReportReason; text?: string; offset?: number }): Promise<{ report: string }>;
  search(text: string, options?: { person?: string; conversation?: string; limit?: number }): Promise<FoundMessage[]>;
  enter(place: string, options?: { token?: string }): Promise<{ visible: boolean }>;
  leave(place: string): Promise<{}>;
  invisible(on: boolean): Promise<{ visible: boolean }>;
  crossings(options?: { order?: "recent" | "time"; limit?: number }): Promise<Crossing[]>;
  setProfile(change: ProfileChange): Promise<Profile & { changed?: number }>;
  profiles(people: string[]): Promise<Profile[]>;
  findPeople(text: string, options?: { limit?: number }): Promise<Profile[]>;

  list(): MapSubscription<Conversation>;
  crossed(): MapSubscription<Crossing>;
  blocked(): MapSubscription<{ user: string; name?: string; time: number }>;
  drafts(): MapSubscription<{ text: string; reply?: number; time: number }>;
  reports(): MapSubscription<Report>;
  badge(): MapSubscription<Totals>;
  profile(): MapSubscription<Profile & { changed: number }>;
  people(): MapSubscription<Profile>;
  reactions(conversation: string): MapSubscription<{ reaction: string; time: number }>;
  receipts(conversation: string): MapSubscription<{ read?: number; delivered?: number }>;
  typists(conversation: string): MapSubscription<any>;
  chat(conversation: string, options?: { since?: Position }): Subscription<Message>;
}

// State

export type Phase = "idle" | "sent" | "received" | "revealed" | "expired";
export interface Sealed { front: string; rear: string; caption?: string; reaction?: string; }

export interface Thread {
  with: string;
  phase: Phase;
  colour: string;
  since: number;
  until?: number;
  limit?: number;
  unread?: true;
  mine?: Sealed;
  theirs?: Sealed;
  blocked?: true;
}

export interface StateEvent {
  event: "sent" | "received" | "revealed" | "expired" | "ended" | "reacted";
  with: string;
  since: number;
  until: number;
  limit?: number;
}

export interface State {
  readonly pictures: Pictures;
  call<Answer = any>(method: string, data: Json, options?: RpcOptions): Promise<Answer>;
  begin(to: string): Promise<{ at: number; limit: number; deadline: number; now: number }>;
  send(state: CallOptions & {
    to: string; front: string; rear: string; caption?: string; replyLimit?: number; key?: string;
  }): Promise<{ phase: Phase; since: number; until: number }>;
  cancel(to: string, pictures?: string[]): Promise<{}>;
  discard(pictures: string[]): Promise<{}>;
  react(person: string, reaction?: string): Promise<{}>;
  seen(person: string): Promise<{}>;
  delivered(person: string): Promise<{}>;
  settings(settings?: { limit?: number }): Promise<{ limit: number }>;
  block(user: string): Promise<{}>;
  unblock(user: string): Promise<{}>;
  threads(): MapSubscription<Thread>;
  events(options?: { since?: Position }): Subscription<StateEvent>;
}

// Notifications

export type Device =
  | { kind: "web"; endpoint: string; keys: { p256dh: string; auth: string } }
  | { kind: "apns"; token: string; topic?: string; environment?: "production" | "sandbox" }
  | { kind: "fcm"; token: string };

export type Preview = "nothing" | "sender" | "text";
export interface DeviceOptions { language?: string; topics?: string[]; preview?: Preview; }

export interface PushSettings {
  topics?: string[];
  preview?: Preview;
  request_preview?: boolean;
  quiet?: { from: string; to: string; zone: string | number } | null;
  muted_until?: number;
}

export interface Push {
  call<Answer = any>(method: string, data: Json, options?: RpcOptions): Promise<Answer>;
  register(device: Device, options?: DeviceOptions): Promise<{ device: string }>;
  /** `registration` is a ServiceWorkerRegistration. */
  registerWeb(
    registration: { pushManager: { subscribe(options: any): Promise<{ toJSON(): any }> } },
    options: DeviceOptions & { vapidKey: string },
  ): Promise<{ device: string }>;
  unregister(device: string): Promise<{}>;
  devices(): Promise<{ devices: any[]; settings: PushSettings }>;
  settings(settings?: PushSettings): Promise<PushSettings>;
  delivered(subject: string, offset?: number): Promise<{}>;
  seen(subject: string, offset?: number): Promise<{}>;
  deviceMap(): MapSubscription<any>;
}

/** A message of the Push API, as this server sends it: shown, an update of what is shown, or a withdrawal. */
export interface PushMessage {
  notification?: {
    title: string; body?: string; navigate?: string; tag?: string; silent?: boolean; data?: Record<string, string>;
  };
  update?: string;
  withdraw?: string;
  app_badge?: number;
  data?: Record<string, string>;
}

/** For a service worker: does what a message asks for. Without `worker`, it is the global one. */
export declare function showPush(message: PushMessage, worker?: {
  registration: {
    getNotifications(filter: { tag: string }): Promise<{ close(): void }[]>;
    showNotification(title: string, options?: any): Promise<void>;
  };
  navigator?: { setAppBadge?(badge: number): Promise<void> };
}): Promise<void>;

/** Sixteen random bytes, as 32 hexadecimal digits: a key of a message, or a picture's id. */
export declare function newKey(): string;

export declare function backoffDelay(
  backoff: { minimum: number; maximum: number }, failures: number, random: number,
): number;

/** The decisions of the client, without I/O: for its tests. */
export declare class Machine {
  constructor(settings: Record<string, any>);
  handle(input: { type: string; [field: string]: any }): { type: string; [field: string]: any }[];
}
