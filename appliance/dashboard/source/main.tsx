// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { EmbeddedSource, readEmbedded } from "./api/embedded_source";
import { LiveSource } from "./api/live_source";
import { App } from "./app";
import { Histories } from "./store/histories";
import { Store } from "./store/store";
import { SharedContext } from "./store/use_store";
import "./style/app.css";

const embedded = readEmbedded(document);
const store = new Store(embedded ? new EmbeddedSource(embedded) : new LiveSource());
const histories = new Histories(store);
store.start();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) store.refresh();
});

render(
  <SharedContext.Provider value={{ store, histories }}>
    <App />
  </SharedContext.Provider>,
  document.getElementById("app") as HTMLElement,
);
