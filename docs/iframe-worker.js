/* Browsers start no worker for a page that is opened from the disk. There, the search's script runs in a hidden frame,
   which takes and gives messages as a worker does. Scripts of other languages than English are not loaded in it. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = []; // messages until the script is there
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.start(frame.contentWindow, new URL(url, location.href).href), { once: true });
      document.body.append(frame);
    }
    start(inner, url) {
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = url;
      script.addEventListener("load", () => {
        this.inner = inner;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
      inner.document.body.append(script);
    }
    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  };
}
