// A WebSocket (RFC 6455) for Node before version 22, which has none: as much of it as a client of Fanfare needs, with the
// interface of browsers. Where Node has its own, that one is used.
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";

class SmallWebSocket {
  #socket = null;
  #buffer = Buffer.alloc(0);
  #parts = [];
  #isOver = false;

  constructor(url) {
    const key = randomBytes(16).toString("base64");
    const address = new URL(url);
    address.protocol = "http:";
    const upgrade = request(address, {
      headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key },
    });
    upgrade.on("response", (response) => { response.resume(); this.#end(1006, `HTTP status ${response.statusCode}`); });
    upgrade.on("error", (error) => this.#end(1006, error.message));
    upgrade.on("upgrade", (response, socket, head) => {
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      if (response.headers["sec-websocket-accept"] !== accept) { socket.destroy(); return this.#end(1006, "no WebSocket"); }
      this.#socket = socket;
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => this.#end(1006, ""));
      socket.on("data", (bytes) => this.#take(bytes));
      if (this.#isOver) return socket.destroy();
      this.onopen?.();
      this.#take(head);
    });
    upgrade.end();
  }

  send(text) { this.#frame(1, Buffer.from(text)); }

  close() {
    if (this.#isOver) return;
    this.#frame(8, Buffer.from([0x03, 0xe8]));
    this.#end(1000, "");
  }

  /** Ends the connection as a lost network does. */
  cut() { this.#end(1006, "cut"); }

  #frame(opcode, payload) {
    if (!this.#socket || this.#isOver) return;
    const mask = randomBytes(4);
    const head = payload.length < 126 ? Buffer.from([0x80 | opcode, 0x80 | payload.length]) : Buffer.alloc(4);
    if (payload.length > 65_535) throw new Error("larger than this WebSocket sends");
    if (payload.length >= 126) { head[0] = 0x80 | opcode; head[1] = 0xfe; head.writeUInt16BE(payload.length, 2); }
    this.#socket.write(Buffer.concat([head, mask, payload.map((byte, index) => byte ^ mask[index % 4])]));
  }

  #take(bytes) {
    this.#buffer = Buffer.concat([this.#buffer, bytes]);
    while (!this.#isOver && this.#buffer.length >= 2) {
      const short = this.#buffer[1] & 0x7f;
      const start = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#buffer.length < start) return;
      const length = short < 126 ? short
        : short === 126 ? this.#buffer.readUInt16BE(2) : Number(this.#buffer.readBigUInt64BE(2));
      if (this.#buffer.length < start + length) return;
      const [head, payload] = [this.#buffer[0], this.#buffer.subarray(start, start + length)];
      this.#buffer = this.#buffer.subarray(start + length);
      this.#received(head & 0x0f, (head & 0x80) !== 0, payload);
    }
  }

  #received(opcode, isLast, payload) {
    if (opcode === 9) return this.#frame(10, payload);
    if (opcode === 10) return;
    if (opcode === 8) {
      return payload.length >= 2
        ? this.#end(payload.readUInt16BE(0), payload.subarray(2).toString()) : this.#end(1005, "");
    }
    this.#parts.push(payload);
    if (!isLast) return;
    const data = Buffer.concat(this.#parts).toString();
    this.#parts = [];
    this.onmessage?.({ data });
  }

  #end(code, reason) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket?.destroySoon();
    queueMicrotask(() => this.onclose?.({ code, reason }));
  }
}

export const WebSocket = globalThis.WebSocket ?? SmallWebSocket;
