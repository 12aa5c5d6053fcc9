// Browsers load no worker from disk. Where the site is opened from a file, this stand-in runs the worker's script in a
// hidden frame, so that the search works there, too.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => load(inside.document, each)));
      load(inside.document, address).then(() => {
        this.inside = inside;
        this.waiting.forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {}
  };
}

function load(target, address) {
  return new Promise((done, failed) => {
    const script = target.createElement("script");
    script.src = address;
    script.onload = done;
    script.onerror = failed;
    (target.body || target.documentElement).append(script);
  });
}
