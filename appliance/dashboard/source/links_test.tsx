// SPDX-License-Identifier: BSD-3-Clause
// Follows the links of a single-file page: each view that a link names must show data. The data is made
// up, or that of the page that the environment variable ROCESCOPE_PAGE names.
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { EmbeddedSource, kDataElement } from "./api/embedded_source";
import { App } from "./app";
import type { Topology } from "./api/messages";
import { hrefOfPlace } from "./parts/route";
import { collectItems } from "./search/collect";
import { Histories } from "./store/histories";
import { Store } from "./store/store";
import { SharedContext } from "./store/use_store";

type Stored = Record<string, unknown>;

const kFakeAppliance: string = "../browser/fake_appliance.mjs"; // it has no types
const kFileSystem: string = "node:fs";
const kMostAlike = 12; // links that differ only in the values of their parameters
const kUnanswered = /does not contain|is not in the topology|unknown finding|unknown job|loading|rejected|does not respond|this view failed/i;

async function readData(): Promise<Stored> {
  const { env } = (globalThis as unknown as { process: { env: Record<string, string | undefined> } }).process;
  const file = env["ROCESCOPE_PAGE"];
  if (!file) return ((await import(/* @vite-ignore */ kFakeAppliance)) as { fakeFile(): Stored }).fakeFile();
  const text = ((await import(/* @vite-ignore */ kFileSystem)) as { readFileSync(path: string, encoding: string): string }).readFileSync(file, "utf8");
  const start = text.indexOf(`id="${kDataElement}">`);
  return JSON.parse(text.slice(text.indexOf(">", start) + 1, text.indexOf("</script>", start))) as Stored;
}

let parent: HTMLElement;
let store: Store;

async function open(data: Stored) {
  store = new Store(new EmbeddedSource(data), () => Date.now(), () => false);
  store.start();
  await go("#/overview");
  await act(() => render(<SharedContext.Provider value={{ store, histories: new Histories(store) }}><App /></SharedContext.Provider>, parent));
  await settle();
}

async function settle() {
  for (let turn = 0; turn < 20; ++turn) {
    await act(() => new Promise<void>((resolve) => setTimeout(resolve, 0)));
    if (turn > 1 && !/Loading/.test(mainText())) return;
  }
}

async function go(hash: string) {
  await act(() => {
    location.hash = hash;
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  });
  await settle();
}

// Opens the details of rows, which contain links too.
async function unfold() {
  const folded = [...parent.querySelectorAll<HTMLElement>('main [aria-expanded="false"]')].slice(0, 2);
  await act(() => folded.forEach((element) => element.click()));
  await settle();
}

const mainText = () => parent.querySelector("main")?.textContent ?? "";
const links = () => [...parent.querySelectorAll("a[href]")].map((link) => link.getAttribute("href") ?? "").filter((link) => link.startsWith("#/"));
// The part of a link that says which view it opens, without the names.
const shapeOf = (link: string) => link.replace(/^(#\/\w+)\/[^?]+/, "$1/NAME").replace(/=[^&]*/g, "").replace(/\?$/, "");
const valuesOf = (link: string, name: string) => (new URLSearchParams(link.split("?")[1]).get(name) ?? "");

beforeEach(() => {
  // Not in happy-dom, which draws nothing.
  Element.prototype.scrollIntoView ??= () => {};
  (globalThis as { Path2D?: unknown }).Path2D ??= class {
    moveTo() {}
    lineTo() {}
  };
  parent = document.createElement("div");
  document.body.append(parent);
});
afterEach(() => {
  render(null, parent);
  parent.remove();
  store.stop();
  location.hash = "";
});

it("answers all of its own links", async () => {
  const data = await readData();
  await open(data);
  const found = new Set(links());
  // The search leads to names that no link of a view contains.
  const topology = data["/api/v1/topology"] as Topology | undefined;
  collectItems({ views: [], topology, jobDetails: [], paths: [] }).forEach(({ href }) => found.add(href));
  const visited = new Map<string, number>();
  const problems: string[] = [];
  for (const link of found) { // a set also iterates over what is added meanwhile
    const shape = `${shapeOf(link)} ${valuesOf(link, "tab")}`;
    const count = visited.get(shape) ?? 0;
    if (count >= kMostAlike) continue;
    visited.set(shape, count + 1);
    await go(link);
    const text = mainText();
    const wrong = kUnanswered.exec(text);
    if (wrong) problems.push(`${link}: ${text.slice(Math.max(0, wrong.index - 60), wrong.index + 100)}`);
    if (text.length < 20) problems.push(`${link}: is empty`);
    await unfold();
    links().forEach((next) => found.add(next));
  }
  expect(problems).toEqual([]);
  expect([...visited.keys()].map((shape) => shape.split(/[?/ ]/)[1])).toEqual(expect.arrayContaining(["overview", "jobs", "findings"]));
  expect(visited.size).toBeGreaterThan(10);
}, 170_000);

it("offers neither sources nor the history", async () => {
  await open(await readData());
  const seen = links();
  await go("#/jobs");
  seen.push(...links());
  expect(seen.filter((link) => link.startsWith("#/sources") || link.includes("tab=history"))).toEqual([]);
  expect(parent.querySelector(".time-bar")).toBeNull();
});

it("offers no map, paths and hotspots without a topology", async () => {
  const whole = await readData();
  const data = Object.fromEntries(Object.entries(whole).filter(([path]) => !/topology|paths|hotspots|links|dependencies/.test(path)));
  await open(data);
  const seen = new Set<string>();
  for (const link of ["#/overview", "#/jobs", "#/findings", ...Object.keys(data).filter((path) => path.startsWith("/api/v1/jobs/")).map((path) => `#/jobs/${path.slice(13)}`)]) {
    await go(link);
    links().forEach((next) => seen.add(next));
  }
  expect([...seen].filter((link) => /^#\/(fabric|paths|hotspots|sources)/.test(link) || link.includes("tab=paths"))).toEqual([]);
});

it("says that it does not contain a name, and not that nothing happened", async () => {
  await open(await readData());
  for (const link of ["#/paths?source=nobody&destination=nobody2", "#/jobs/no-such-job", "#/hotspots?job=no-such-job", "#/fabric?from=nobody&to=nobody2"]) {
    await go(link);
    expect(mainText(), link).toMatch(/does not contain the (end|job) "no/);
    expect(mainText(), link).not.toMatch(/was observed|no hotspot|empty/i);
  }
  await go(hrefOfPlace("nobody:1"));
  expect(mainText()).toContain("nobody:1 is not in the topology");
});
