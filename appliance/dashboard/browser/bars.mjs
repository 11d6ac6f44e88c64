// SPDX-License-Identifier: BSD-3-Clause
// Measures the dashboard on a large fake fabric and prints the figures with their limits: main-thread work per
// frame while zooming, memory, the search, and the time from the link of an alert to the finding. The machine
// must be idle; one without a GPU draws more slowly. Requires dist/ (npm run build).
//
//   node bars.mjs [--hosts 4096] [--nics 8] [--seconds 5] [--check]
//
// --check: exit with 1 if a limit is exceeded. CHROMIUM: path of the browser (default: /usr/bin/chromium).
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { startFakeAppliance } from "./fake_appliance.mjs";

const { values: options } = parseArgs({ options: {
  hosts: { type: "string", default: "4096" }, nics: { type: "string", default: "8" }, seconds: { type: "string", default: "5" }, check: { type: "boolean", default: false },
} });
const kTimeoutMs = 180_000;
const kViewport = { width: 1600, height: 1000 };
const kLoads = 5; // how often the link of an alert is opened
const kNamesSearched = 100_000;

let exceeded = 0;
function report(what, value, limit, unit, detail = "") {
  const isOver = !(value <= limit);
  exceeded += isOver ? 1 : 0;
  console.log(`${what.padEnd(46)}${value.toFixed(1).padStart(8)} ${unit.padEnd(3)} limit ${limit} ${unit}${isOver ? "  EXCEEDED" : ""}${detail && `  (${detail})`}`);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

// The work of the main thread of the page in each frame, in ms. A frame lasts from one animation callback to
// the next.
function workOfFrames(trace) {
  const events = trace.traceEvents;
  const frames = events.filter(({ name }) => name === "FireAnimationFrame");
  const { pid, tid } = frames[0] ?? {};
  const starts = frames.filter((event) => event.pid === pid && event.tid === tid).map(({ ts }) => ts).sort((a, b) => a - b);
  const tasks = events.filter((event) => event.name === "RunTask" && event.pid === pid && event.tid === tid && event.dur !== undefined);
  const work = starts.map(() => 0);
  for (const { ts, dur } of tasks) {
    // The task that runs the callback starts before it.
    const frame = starts.findIndex((start, i) => ts + dur > start && ts + dur <= (starts[i + 1] ?? Infinity));
    if (frame >= 0) work[frame] += dur / 1000;
  }
  return work.slice(1, -1); // the first and the last one are incomplete
}

async function during(browser, page, act) {
  await browser.startTracing(page, { categories: ["devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel"] });
  await page.evaluate(() => {
    const each = () => (window.asked_ = requestAnimationFrame(each));
    each();
  });
  await act();
  await page.evaluate(() => cancelAnimationFrame(window.asked_));
  return workOfFrames(JSON.parse((await browser.stopTracing()).toString()));
}

function reportFrames(what, work) {
  if (work.length < 10) {
    ++exceeded;
    console.log(`${what}: only ${work.length} frames were traced`);
    return;
  }
  const over = work.filter((ms) => ms > 33).length;
  report(`${what}: main-thread work per frame, 95 %`, quantile(work, 0.95), 33, "ms",
    `${work.length} frames, mean ${(sum(work) / work.length).toFixed(1)}, longest ${Math.max(...work).toFixed(1)}, ${over} above the limit`);
}

async function until(seconds, step) {
  const end = Date.now() + 1000 * seconds;
  for (let i = 0; Date.now() < end; ++i) await step(i);
}

async function openMap(browser, url) {
  const page = await (await browser.newContext({ viewport: kViewport })).newPage();
  page.setDefaultTimeout(kTimeoutMs);
  await page.goto(`${url}#/fabric`);
  await page.waitForFunction(() => document.querySelector(".map canvas") && !document.querySelector("main .loading"), null, { timeout: kTimeoutMs });
  await page.waitForTimeout(2000);
  return page;
}

async function measureMap(browser, page) {
  const { x, y, width, height } = await page.locator(".map canvas").boundingBox();
  const middle = { x: x + width / 2, y: y + height / 2 };
  const seconds = Number(options.seconds);
  await page.mouse.move(middle.x, middle.y);
  // In, then out and in again, so that far and near zoom levels are measured.
  const zoom = () => until(seconds, (i) => page.mouse.wheel(0, i % 60 < 30 ? -60 : 60));
  const drag = async () => {
    await page.mouse.down();
    await until(seconds, (i) => page.mouse.move(middle.x + 200 * Math.sin(i / 8), middle.y + 60 * Math.sin(i / 5)));
    await page.mouse.up();
  };
  reportFrames("zoom", await during(browser, page, zoom));
  reportFrames("drag", await during(browser, page, drag));
  const pods = page.getByLabel("Open a pod");
  if ((await pods.count()) === 0) return;
  // Each selection removes the pod from the list.
  for (let i = 0; i < 4; ++i) {
    await pods.selectOption({ index: 1 });
    await page.waitForTimeout(300);
  }
  await page.getByRole("button", { name: "Fit" }).click();
  await page.mouse.move(middle.x, middle.y);
  reportFrames("zoom, 4 open pods", await during(browser, page, zoom));
}

// Private memory of a process in MB. Undefined where /proc does not exist.
function privateMegabytes(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return sum([...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].map((match) => Number(match[1]))) / 1024;
  } catch {
    return undefined;
  }
}

async function measureMemory(browser, page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  // One renderer has the page; Chromium keeps a spare one.
  const renderers = processInfo.filter(({ type }) => type === "renderer").flatMap(({ id }) => privateMegabytes(id) ?? []);
  const heap = usedSize / 2 ** 20;
  if (renderers.length === 0) report("memory: JavaScript heap", heap, 300, "MB", "the memory of the process is unknown");
  else report("memory: process of the page", Math.max(...renderers), 300, "MB", `JavaScript heap ${heap.toFixed(1)} MB`);
}

// From the input of a query until its results are painted.
async function measureSearch(page, hosts) {
  await page.keyboard.press("/");
  const box = page.getByRole("combobox", { name: "Search all names" });
  await box.waitFor();
  const names = Number((await page.locator("dialog.search [role=status]").innerText()).replace(/(\d)\D(?=\d{3})/g, "$1").match(/\d+/)?.[0] ?? 0);
  await page.evaluate(() => {
    document.querySelector("dialog.search input").addEventListener("input", () => {
      const start = performance.now();
      requestAnimationFrame(() => setTimeout(() => { window.searchMs_ = performance.now() - start; }));
    }, { capture: true });
  });
  const queries = ["g", `gpu-${hosts - 1}:mlx5_0`, "gpu 7", "10.0.1", "no-such-name"];
  const times = [];
  for (const query of queries) {
    await page.evaluate(() => { window.searchMs_ = undefined; });
    await box.fill(query);
    await page.waitForFunction(() => window.searchMs_ !== undefined, null, { timeout: kTimeoutMs });
    times.push(await page.evaluate(() => window.searchMs_));
  }
  await page.keyboard.press("Escape");
  const note = names < kNamesSearched ? `; fewer than ${kNamesSearched} names: use more hosts or NICs` : "";
  report(`search over ${names} names, slowest of ${queries.length}`, Math.max(...times), 100, "ms", `${queries.map((query, i) => `"${query}" ${times[i].toFixed(0)}`).join(", ")}${note}`);
}

// From the start of the navigation, with an empty cache, until the finding, its jobs and its action are painted.
async function measureAlertLink(browser, what, { url }, hash) {
  const times = [];
  for (let i = 0; i < kLoads; ++i) {
    const context = await browser.newContext({ viewport: kViewport });
    const page = await context.newPage();
    await page.addInitScript(() => {
      const isShown = () => document.querySelector(".finding-page .action") && /affected jobs\s*\S/.test(document.querySelector(".finding-facts")?.textContent ?? "");
      const look = () => {
        if (!isShown()) return requestAnimationFrame(look);
        return requestAnimationFrame(() => setTimeout(() => { window.shownMs_ = performance.now(); }));
      };
      requestAnimationFrame(look);
    });
    await page.goto(url + hash, { timeout: kTimeoutMs });
    await page.waitForFunction(() => window.shownMs_ !== undefined, null, { timeout: kTimeoutMs });
    times.push(await page.evaluate(() => window.shownMs_));
    await context.close();
  }
  report(`alert link to finding, ${what}, slowest of ${kLoads}`, Math.max(...times) / 1000, 2, "s", `median ${(quantile(times, 0.5) / 1000).toFixed(2)}`);
}

const hosts = Number(options.hosts);
const small = await startFakeAppliance(0);
const large = await startFakeAppliance(0, { hosts, nics: Number(options.nics) });
const findings = await (await fetch(`${large.url}api/v1/findings`)).json();
const hashOf = ({ kind, place, direction }) => `#/findings/${[kind, place, direction].map(encodeURIComponent).join("~")}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  console.log(`${hosts} hosts with ${options.nics} NICs each`);
  const page = await openMap(browser, large.url);
  await measureMap(browser, page);
  await measureSearch(page, hosts);
  await measureMemory(browser, page);
  await page.context().close();
  const gray = findings.findings.find(({ kind }) => kind === "gray_loss");
  await measureAlertLink(browser, `${hosts} hosts`, large, hashOf(gray));
  await measureAlertLink(browser, "16 hosts", small, "#/findings/gray_loss~leaf0:Ethernet101-spine1:Ethernet0~leaf0:Ethernet101");
} finally {
  await browser.close();
  small.close();
  large.close();
}
process.exit(options.check && exceeded > 0 ? 1 : 0);
