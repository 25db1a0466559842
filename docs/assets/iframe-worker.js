// Lets the search run where the pages are opened as files: browsers start no Worker from file://.
// Same idea as the iframe-worker package: the worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.room = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== this.room) return;
        const copy = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(copy);
        if (this.onmessage) this.onmessage(copy);
      });
      this.ready = new Promise((resolve) => {
        const room = this.room.document;
        room.open();
        room.write("<!doctype html><body></body>");
        room.close();
        // A worker's postMessage goes to the page, and importScripts loads scripts in order.
        this.room.postMessage = (data) => window.dispatchEvent(new MessageEvent("message", { data, source: this.room }));
        this.room.importScripts = (...urls) => {
          const load = (source) =>
            new Promise((done) => this.add(new URL(source, document.baseURI).href, done));
          return urls.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
        };
        this.add(url, resolve);
      });
    }

    add(url, done) {
      const script = this.room.document.createElement("script");
      script.src = url;
      script.onload = done;
      this.room.document.body.appendChild(script);
    }

    postMessage(data) {
      this.ready.then(() => this.room.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.room.frameElement.remove();
    }
  };
}
