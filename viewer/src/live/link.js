// The line to the simulation: a stream that is fetched, commands that are posted. Addresses are relative: the token is in
// that of the page.

import { FRAME, Messages, NEWS, PATH } from "./frame.js";

const AGAIN = 400; // milliseconds until it tries again
const TRIES = 12; // before it says that nobody answers

export class Link {
  /** on: { frame, news, path, state } — state(words, { taken, lost }) says how the line is; words are empty if it is well. */
  constructor(on) {
    this.on = on;
    this.page = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
    this.failed = 0;
    this.over = false;
    this.waiting = Promise.resolve();
    this.settings = []; // that are not posted yet
  }

  async listen(take = false) {
    this.over = false;
    try {
      const answer = await fetch(`stream?page=${this.page}${take ? "&take=1" : ""}`, { cache: "no-store" });
      if (answer.status === 409) {
        this.failed += 1;
        if (this.failed > 3) return this.on.state("This drive is open in another page.", { taken: true });
        return this.again(); // it may be this page before it was loaded again
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      this.failed = 0;
      this.on.state("", {});
      const messages = new Messages((kind, bytes) => this.take(kind, bytes));
      const reader = answer.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        messages.push(value);
      }
      if (this.over) return undefined;
      this.failed = 4; // an orderly end that was not announced: another page took over
      return this.on.state("Another page has taken over.", { taken: true });
    } catch {
      return this.again();
    }
  }

  again() {
    if (this.over) return undefined;
    this.failed += 1;
    if (this.failed > TRIES) return this.on.state("The simulation does not answer; it has been ended.", { lost: true });
    setTimeout(() => this.listen(), AGAIN);
    return undefined;
  }

  take(kind, bytes) {
    if (kind === FRAME) this.on.frame(bytes);
    if (kind === PATH) this.on.path(new Float64Array(bytes.buffer, 0, bytes.length / 8));
    if (kind !== NEWS) return;
    const news = JSON.parse(new TextDecoder().decode(bytes));
    if (news.type === "end") this.over = true;
    this.on.news(news);
  }

  /** Post a command; an answer that refuses it is told as news. One after another, so that none overtakes. */
  do(command) {
    this.waiting = this.waiting.then(() => this.post(command));
    return this.waiting;
  }

  /**
   * Post settings, which do not hold up the commands: some take a second. Where others of the same names are still to be
   * posted, these replace them.
   */
  async set(settings) {
    const names = (one) => Object.keys(one).join();
    const { length } = this.settings;
    if (length > 1 && names(this.settings.at(-1)) === names(settings)) this.settings.pop();
    this.settings.push(settings);
    if (length) return;
    while (this.settings.length) {
      await this.post({ do: "set", settings: this.settings[0] });
      this.settings.shift();
    }
  }

  async post(command) {
    try {
      const answer = await fetch("do", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ page: this.page, ...command }),
      });
      const { error, doubt } = await answer.json();
      if (error || doubt) this.on.news({ type: "refused", error: error ?? doubt });
    } catch {
      // The stream says when nobody answers.
    }
  }
}
