"use strict";
// Decides which tabs of this gateway have an event stream. A browser opens at most six connections to one address, and each
// stream keeps one, so six tabs with streams would leave no connection to load a seventh. Therefore a hidden tab closes its
// stream, and only the three visible tabs that were opened or touched last have one.

const LIVE_TABS = 3;

class StreamTurn {
  // onChange() is called when `isLive`, whether this tab may have a stream, has changed.
  constructor(onChange) {
    this.onChange = onChange;
    this.isLive = false;
    this.id = Math.random();
    this.newer = new Set();  // visible tabs that were opened or touched after this one
    this.channel = new BroadcastChannel("gp-streams");
    this.channel.addEventListener("message", ({data}) => this.hear(data));
  }

  start() {
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.leave(); else this.comeFirst(); });
    addEventListener("pagehide", () => this.leave());
    addEventListener("pageshow", (event) => { if (event.persisted) this.comeFirst(); });
    for (const touch of ["focus", "pointerdown", "keydown"]) {
      addEventListener(touch, () => { if (!this.isLive || this.newer.size > 0) this.comeFirst(); });
    }
    this.comeFirst();
  }

  comeFirst() {
    if (document.hidden) return;
    this.newer.clear();
    this.channel.postMessage({id: this.id, visible: true});
    this.decide(true);
  }

  leave() {
    this.channel.postMessage({id: this.id, visible: false});
    this.decide(false);
  }

  hear({id, visible}) {
    if (visible) this.newer.add(id);
    else this.newer.delete(id);
    this.decide(!document.hidden && this.newer.size < LIVE_TABS);
  }

  decide(isLive) {
    if (this.isLive === isLive) return;
    this.isLive = isLive;
    this.onChange();
  }
}
