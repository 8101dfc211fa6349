// The recorder of State: two pictures within a time that the server says, and that shoots by itself when it is over.
//
// | step      | what is seen                     | leads to                                                        |
// |-----------|----------------------------------|-----------------------------------------------------------------|
// | ready     | how long there will be, Start    | front (the camera is asked for first, then `state.begin`)       |
// | front     | the front camera, a countdown    | rear: shutter, or the time is over                              |
// | rear      | the rear camera, the countdown   | review: shutter, or the time is over                            |
// | review    | both, caption, limit for answers | front or rear (taken again), sending, late                      |
// | sending   | what waits                       | over, late (error 434), review (any other error)                |
// | late      | nothing was sent, send anyway    | sending (after another `state.begin`)                           |
// | over      | -                                | the overview                                                    |
//
// Given up from each of them but `sending`: the pictures are discarded.

import { newKey } from "../fanfare.js";
import { asJpeg, drawSample, frameOf, openCamera, sides, stop } from "./state-camera.js";
import { announce, bag, button, count, duration, field, fill, h, sentence, svg } from "./ui.js";

const titles = { front: "You", rear: "What you see" };
const tooLate = 434;
const unknownPicture = 435;
/** Seconds before the end that are told to those who listen. */
const told = [60, 30, 10, 5];
const circle = 2 * Math.PI * 26;

/** What those who answer may be given. "0" is their own setting. */
const limits = [["0", "their own choice"], ["10000", "10 seconds"], ["30000", "30 seconds"],
  ["60000", "1 minute"], ["120000", "2 minutes"], ["300000", "5 minutes"]];

function countdown() {
  const ring = svg("circle", { class: "ring-left", cx: 32, cy: 32, r: 26, "stroke-dasharray": circle });
  const text = h("span", { class: "ring-text", role: "timer", "aria-live": "off" });
  const element = h("div", { class: "ring" },
    svg("svg", { viewBox: "0 0 64 64", "aria-hidden": true },
      svg("circle", { class: "ring-all", cx: 32, cy: 32, r: 26 }), ring), text);
  let last = Infinity;
  return {
    element,
    show(left, whole) {
      const seconds = Math.max(0, Math.ceil(left / 1000));
      const minutes = Math.floor(seconds / 60);
      const words = seconds >= 60 ? `${minutes}:${String(seconds % 60).padStart(2, "0")}` : String(seconds);
      if (text.textContent !== words) text.textContent = words;
      const share = Math.min(1, Math.max(0, left / Math.max(1, whole)));
      ring.setAttribute("stroke-dashoffset", String(circle * (1 - share)));
      element.classList.toggle("ring-short", seconds <= 10);
      const mark = told.find((each) => last > each && seconds === each);
      if (mark !== undefined) announce(`${count(mark, "second")} left`);
      last = seconds;
    },
  };
}

/**
 * Opens the recorder in `root`. `to` is the user id, `name` what they are called, `limit` milliseconds that an answer
 * has (undefined: one's own setting). `learn(now)` hears the server's time; `close(text)` is called at the end.
 */
export class Recorder {
  #held = bag();
  #step = "ready";
  #stream = null;
  #samples = false;
  #shots = { front: null, rear: null };
  #ring = countdown();
  #recordEnds = 0;
  #sendEnds = 0;
  #whole = 1;
  #isShooting = false;
  #isOver = false;
  #timeIsOver = false;
  #key = newKey();
  #caption = "";
  #replyLimit = "0";

  constructor(root, { session, to, name, limit, isAnswer, learn, close }) {
    Object.assign(this, { root, session, to, name, limit, isAnswer, learn, close });
    this.body = h("div", { class: "recorder-body" });
    this.note = h("p", { class: "recorder-note", role: "status" });
    this.heading = h("h2", { tabindex: "-1" }, isAnswer ? `Your answer to ${name}` : `A State for ${name}`);
    fill(root, h("section", { class: "recorder", "aria-label": "Recorder" },
      h("div", { class: "recorder-head" }, this.heading, this.#ring.element,
        button("Give up", () => this.#giveUp(), { class: "button button-small" })), this.note, this.body));
    this.#ring.element.hidden = true;
    this.#held.every(200, () => this.#tick());
    this.#held.keep(() => stop(this.#stream));
    this.#showReady();
    this.heading.focus();
  }

  /** The screen is left. What is being sent goes on; anything else is given up. */
  end() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#held.end();
    const ids = this.#discardAll();
    if (["front", "rear", "review", "late"].includes(this.#step)) {
      this.session.client.state.cancel(this.to, ids).catch(() => {});
    }
  }

  #tell(text) { this.note.textContent = text; }

  #showReady() {
    this.#step = "ready";
    const time = h("strong", {}, this.limit ? duration(this.limit) : "…");
    if (!this.limit) this.#showOwnLimit(time);
    const frame = (number, sign, text) => h("li", { class: "recorder-plan" },
      h("span", { class: "recorder-plan-sign", "aria-hidden": true }, sign), h("strong", {}, `${number}. ${text}`));
    fill(this.body, h("div", { class: "recorder-ready card" },
      h("ol", { class: "recorder-plans" }, frame(1, "🤳", titles.front), frame(2, "🏞️", titles.rear)),
      h("div", { class: "stack" },
        h("p", {}, "You have ", time, " for both pictures. When the time is over, they are taken by themselves."),
        h("p", { class: "soft" }, this.isAnswer
          ? `As soon as yours is there, both of you see both. Until then you see nothing of what ${this.name} has sent.`
          : `${this.name} cannot see yours before answering, and has 24 hours for it. Neither can anybody else.`),
        h("div", { class: "row" },
          button("Start with the camera", () => this.#start(false), { kind: "primary" }),
          button("Start with sample pictures", () => this.#start(true))))));
  }

  /** What the server gives oneself; it says it again when the recorder begins. */
  async #showOwnLimit(place) {
    try {
      place.textContent = duration((await this.session.client.state.settings()).limit);
    } catch {
      place.textContent = "some time";
    }
  }

  async #start(samples) {
    fill(this.body, h("p", { class: "recorder-wait card" },
      samples ? "One moment …" : "Waiting for the camera. The time does not run yet."));
    this.#samples = samples;
    // The person is asked about the camera before the time begins to run.
    if (!samples) await this.#openStream("front");
    if (this.#isOver) return stop(this.#stream);
    const isBegun = await this.#begin();
    if (this.#isOver) {
      if (isBegun) this.session.client.state.cancel(this.to).catch(() => {});
      return;
    }
    if (!isBegun) return this.#showReady();
    await this.#showCamera("front");
  }

  async #begin() {
    const { client } = this.session;
    try {
      const asked = performance.now();
      const { at, limit, deadline, now } = await client.state.begin(this.to);
      // Half the way there and back has passed since the server looked at its clock.
      const since = performance.now() - (performance.now() - asked) / 2;
      this.learn(now);
      this.#recordEnds = since + (at + limit - now);
      this.#sendEnds = since + (deadline - now);
      this.#whole = limit;
      this.#timeIsOver = false;
      this.#ring.element.hidden = false;
      return true;
    } catch (error) {
      stop(this.#stream);
      this.#stream = null;
      this.#tell(client.connectionState === "connected" ? sentence(error)
        : "The recorder needs a connection, since its time is the server's. Try again when you are online.");
      return false;
    }
  }

  async #openStream(side) {
    stop(this.#stream);
    this.#stream = await openCamera(side);
    if (this.#isOver) return stop(this.#stream);
    if (this.#stream) return;
    this.#samples = true;
    this.#tell("There is no camera that this page may use, so sample pictures are drawn instead.");
  }

  async #showCamera(side) {
    this.#step = side;
    this.video = null;
    if (!this.#samples && (side !== "front" || !this.#stream)) await this.#openStream(side);
    if (this.#isOver) return;
    const shutter = button("", () => this.#shoot(), { kind: "shutter", label: `Take the ${side} picture` });
    let view;
    if (this.#samples) {
      this.sample = drawSample(side, this.session.name);
      this.sample.classList.add("recorder-view");
      set(this.sample, `Sample of the ${side} picture`);
      view = this.sample;
    } else {
      view = this.video = h("video", {
        class: `recorder-view ${side === "front" ? "is-mirrored" : ""}`, playsinline: true, muted: true, autoplay: true,
        srcObject: this.#stream, "aria-label": `What the ${side} camera sees`,
      });
      await this.video.play().catch(() => {});
      if (this.#isOver) return;
    }
    const taken = this.#shots[side === "front" ? "rear" : "front"];
    fill(this.body, h("div", { class: "recorder-stage" },
      h("div", { class: "recorder-frame" }, view,
        h("p", { class: "recorder-side" }, `${side === "front" ? 1 : 2} of 2 · ${titles[side]}`),
        taken ? h("img", { class: "recorder-taken", src: taken.address, alt: "The other picture, taken" }) : null),
      shutter));
    this.#tick();
    shutter.focus();
    announce(`${titles[side]}. Take the picture, or wait until the time is over.`);
  }

  async #shoot() {
    const side = this.#step;
    if (this.#isShooting || !(side in sides)) return;
    this.#isShooting = true;
    try {
      // A camera that shows nothing yet gives no picture: then a sample takes its place.
      const hasFrame = this.video && this.video.videoWidth > 0;
      const blob = await asJpeg(hasFrame ? frameOf(this.video, side)
        : this.sample ?? drawSample(side, this.session.name));
      if (this.#isOver) return;
      this.#keepShot(side, blob);
      const next = ["front", "rear"].find((each) => !this.#shots[each]);
      if (next) await this.#showCamera(next); else this.#showReview();
    } catch (error) {
      this.#tell(sentence(error));
    } finally {
      this.#isShooting = false;
    }
  }

  /** Uploads it at once, while the other is taken. */
  #keepShot(side, blob) {
    this.sample = null;
    const control = new AbortController();
    const shot = { id: newKey(), blob, address: URL.createObjectURL(blob), control, error: null };
    this.#shots[side] = shot;
    this.#upload(shot);
  }

  #upload(shot) {
    const { pictures } = this.session.client.state;
    shot.error = null;
    shot.done = pictures.upload(shot.blob, { id: shot.id, signal: shot.control.signal }).catch((error) => {
      shot.error = error;
    });
  }

  #drop(side) {
    const shot = this.#shots[side];
    if (!shot) return null;
    this.#shots[side] = null;
    shot.control.abort();
    URL.revokeObjectURL(shot.address);
    return shot.id;
  }

  #discardAll() {
    if (this.#step === "sending") {
      for (const shot of Object.values(this.#shots)) if (shot) URL.revokeObjectURL(shot.address);
      return [];
    }
    return Object.keys(sides).map((side) => this.#drop(side)).filter(Boolean);
  }

  async #again(side) {
    const id = this.#drop(side);
    // What cannot be discarded now is gone by itself within the hour.
    if (id) this.session.client.state.discard([id]).catch(() => {});
    this.#key = newKey();
    await this.#showCamera(side);
  }

  #showReview() {
    this.#step = "review";
    stop(this.#stream);
    this.#stream = null;
    const shotView = (side) => h("figure", { class: "recorder-shot" },
      h("img", { src: this.#shots[side].address, alt: `Your ${side} picture` }),
      h("figcaption", {}, titles[side],
        this.#timeIsOver ? null : button("Take again", () => this.#again(side), { kind: "quiet" })));
    const caption = field("Caption", {
      maxlength: 280, value: this.#caption, autocomplete: "off",
      on: { input: ({ target }) => { this.#caption = target.value; } },
    }, "Sealed with the pictures. Up to 280 characters.");
    const reply = this.isAnswer ? null : field(`How long ${this.name} has to record the answer`, {
      tag: "select", children: limits.map(([value, text]) => h("option", { value }, text)),
      on: { change: ({ target }) => { this.#replyLimit = target.value; } },
    });
    if (reply) reply.input.value = this.#replyLimit;
    const send = button(this.isAnswer ? "Send and reveal both" : "Seal and send", () => this.#send(),
      { kind: "primary" });
    fill(this.body, h("div", { class: "recorder-review" },
      h("div", { class: "recorder-shots" }, shotView("front"), shotView("rear")),
      h("div", { class: "card stack recorder-form" }, caption.element, reply?.element,
        h("div", { class: "row" }, send))));
    send.focus();
    announce("Both pictures are taken. You can write a caption, and send them.");
  }

  async #send() {
    if (this.#step === "sending") return;
    this.#step = "sending";
    const { client, toast } = this.session;
    const { front, rear } = this.#shots;
    fill(this.body, h("div", { class: "recorder-wait card" }, h("p", {}, "Sending …"),
      h("progress", { "aria-label": "Sending" })));
    this.#ring.element.hidden = true;
    this.#tell(client.connectionState === "connected" ? ""
      : "You are offline. Both pictures are kept on this page, and "
      + "go out as soon as you are back, if that is before the time is over. Leave the page open.");
    try {
      for (const shot of [front, rear]) {
        if (shot.error) this.#upload(shot);
        await shot.done;
        if (shot.error) throw shot.error;
      }
      const { phase } = await client.state.send({
        to: this.to, front: front.id, rear: rear.id, caption: this.#caption.trim() || undefined,
        replyLimit: Number(this.#replyLimit) || undefined, key: this.#key,
      });
      const text = phase === "revealed" ? `You and ${this.name} can see both now.`
        : `Sealed. ${this.name} has 24 hours to answer.`;
      if (this.#isOver) toast(text); else this.#finish(text, phase);
    } catch (error) {
      if (this.#isOver) return toast(`Your State for ${this.name} was not sent: ${error.message}`);
      if (error.code === tooLate) return this.#showLate();
      if (error.code === unknownPicture) this.#renew();
      this.#ring.element.hidden = false;
      this.#showReview();
      this.#tell(`Not sent: ${sentence(error)}`);
    }
  }

  /** The server does not know them any more: they go up again under other ids, which needs another key. */
  #renew() {
    this.#key = newKey();
    for (const shot of Object.values(this.#shots)) {
      shot.id = newKey();
      this.#upload(shot);
    }
  }

  #showLate() {
    this.#step = "late";
    this.#tell("");
    fill(this.body, h("div", { class: "recorder-wait card", role: "alert" },
      h("p", {}, "That came after the deadline. Nothing was sent, and your pictures are still here."),
      h("div", { class: "row" }, button("Open the recorder again and send them", async () => {
        if (this.#step === "late" && await this.#begin() && !this.#isOver) this.#send();
      }, { kind: "primary" }))));
  }

  #finish(text, phase) {
    this.end();
    this.close(text, phase);
  }

  #giveUp() {
    if (this.#step === "sending") {
      this.session.toast("It is on its way already, and goes on.");
      this.end();
      return this.close("");
    }
    this.end();
    this.close("Given up. Nothing was sent.");
  }

  #tick() {
    const now = performance.now();
    if (this.#step === "front" || this.#step === "rear") {
      this.#ring.show(this.#recordEnds - now, this.#whole);
      if (now < this.#recordEnds) return;
      if (!this.#timeIsOver) this.#tell("The time was over, so the pictures took themselves.");
      this.#timeIsOver = true;
      this.#shoot();
    } else if (this.#step === "review") {
      this.#ring.show(this.#sendEnds - now, this.#sendEnds - this.#recordEnds + this.#whole);
      if (now >= this.#recordEnds && !this.#timeIsOver) {
        this.#timeIsOver = true;
        for (const each of this.body.querySelectorAll("figcaption button")) each.remove();
        this.#tell("The time to record is over. Send them before the countdown ends.");
      }
      if (now >= this.#sendEnds) this.#showLate();
    }
  }
}

/** Names what a canvas shows. */
function set(canvas, label) {
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
}
