// As much of an EventSource as centrifuge-js uses, which Node has none of.

export class EventSource {
  #controller = new AbortController();

  constructor(url) {
    this.#read(url);
  }

  async #read(url) {
    const { signal } = this.#controller;
    try {
      const response = await fetch(url, { signal, headers: { Accept: "text/event-stream" } });
      if (!response.ok || response.headers.get("content-type") !== "text/event-stream") throw new Error(`${response.status}`);
      this.onopen?.({});
      let text = "";
      for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
        text += part;
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) if (event.startsWith("data: ")) this.onmessage?.({ data: event.slice(6) });
      }
      throw new Error("the stream has ended");
    } catch (error) {
      if (!signal.aborted) this.onerror?.(error);
    }
  }

  close() {
    this.#controller.abort();
  }
}
