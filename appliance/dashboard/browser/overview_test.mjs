// SPDX-License-Identifier: BSD-3-Clause
// Opens the overview, the findings and the search on a fake appliance: states that a running appliance
// does not have at will, such as old telemetry, no history, no faults and unknown findings.
//
//   node overview_test.mjs SCREENSHOT_DIR
//
// CHROMIUM: path of the browser (default: /usr/bin/chromium). Requires dist/ (npm run build).
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { auditPage } from "./accessibility.mjs";
import { startFakeAppliance } from "./fake_appliance.mjs";
import { findRawValue } from "./texts.mjs";

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node overview_test.mjs SCREENSHOT_DIR");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kFinding = "#/findings/gray_loss~leaf1:12-spine0:1~leaf1:12";
const kMaxShift = 0.02; // below 0.1 counts as good

const problems = [];
const note = (problem) => {
  problems.push(problem);
  console.error(`FAILED: ${problem}`);
};
const check = (holds, sentence) => {
  if (!holds) note(sentence);
};

const fake = await startFakeAppliance(0);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function openPage(hash, viewport = { width: 1280, height: 800 }, colorScheme = "light") {
  const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
  page.on("pageerror", (error) => note(`${hash}: ${error.message}`));
  await page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.shift += entry.value)))
      .observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(fake.url + hash);
  await page.waitForSelector("main h1");
  await page.waitForFunction(() => !document.querySelector("main .loading"), null, { timeout: 20_000 });
  return page;
}

// Runs `look` with another state of the appliance.
async function withState(changes, hash, look) {
  const before = { ...fake.state };
  Object.assign(fake.state, changes);
  const page = await openPage(hash);
  await look(page);
  Object.assign(fake.state, before);
  await page.context().close();
}

const mainText = (page) => page.locator("main").innerText();

async function audit(page, where) {
  const raw = await findRawValue(page);
  check(raw === undefined, `${where}: shows the raw value ${raw}`);
  await auditPage(page, kAxe, where, note);
}

async function lookAtSizes() {
  for (const [label, viewport, scheme] of [
    ["desk", { width: 1280, height: 800 }, "light"], ["dark", { width: 1280, height: 800 }, "dark"], ["phone", { width: 390, height: 844 }, "light"],
  ]) {
    for (const [name, hash] of [["overview", "#/"], ["findings", "#/findings"], ["finding", kFinding]]) {
      const where = `${label}: ${name}`;
      const page = await openPage(hash, viewport, scheme);
      await page.waitForTimeout(500);
      const { beyond, below, shift } = await page.evaluate(() => ({
        beyond: document.documentElement.scrollWidth - window.innerWidth,
        below: document.documentElement.scrollHeight - window.innerHeight,
        shift: window.shift,
      }));
      check(beyond <= 0, `${where}: the page is ${beyond} px wider than the window`);
      check(shift <= kMaxShift, `${where}: the layout shifts by ${shift.toFixed(3)}`);
      if (label === "desk" && name !== "findings") check(below <= 0, `${where}: must be scrolled by ${below} px`);
      await audit(page, where);
      await page.screenshot({ path: join(folder, `${label}-${name}.png`), fullPage: label === "phone" });
      await page.context().close();
    }
  }
}

async function lookAtOverview() {
  await withState({}, "", async (page) => {
    check(page.url().endsWith("/") || page.url().endsWith("#/overview"), "overview: is not the first view");
    const text = await mainText(page);
    for (const expected of [
      "1 critical fault and 1 warning; 2 of 3 jobs affected.", "Silent packet loss, leaf1:12-spine0:1", "started 13 min ago",
      "drain the link", "pretrain-70b", "6 of 6 switches", "46 of 48 NICs", "resolved",
    ]) check(text.includes(expected), `overview: lacks "${expected}"`);
    const first = await page.locator(".active-findings li").first().innerText();
    check(first.includes("critical"), "overview: the first finding is not the worst");
    await page.locator(".active-findings a[data-item]").first().click();
    await page.waitForSelector(".finding-page");
    check(/#\/findings\/gray_loss~/.test(page.url()), "overview: the finding has no permalink");
    const permalink = page.url();
    await page.goto("about:blank");
    await page.goto(permalink);
    await page.waitForSelector(".finding-page");
    const finding = await mainText(page);
    for (const expected of ["Silent packet loss", "13 min ago", "pretrain-70b, finetune", "Recommended action", "10 412 900 frames"]) {
      check(finding.includes(expected), `finding: lacks "${expected}"`);
    }
    check((await page.locator('.finding-links a[href*="dependents=1"]').count()) === 1, "finding: has no link to the dependents");
  });
  await withState({ healthy: true }, "", async (page) => {
    const text = await mainText(page);
    check(text.includes("No faults found; 2 fault types are not detectable"), "overview: does not say how much no faults means");
    await audit(page, "healthy overview");
    await page.screenshot({ path: join(folder, "healthy-overview.png") });
  });
}

async function lookAtAge() {
  await withState({ dataAgeS: 45 }, "", async (page) => {
    const text = await page.locator("body").innerText();
    check(/No telemetry for 4[5-9] s: the current state of the fabric is unknown/.test(text), "old data: the overview does not say so");
    check(/Telemetry stopped 4[5-9] s ago/.test(text), "old data: the header does not show the age of the data");
    check((await page.locator("main.old-data").count()) === 1, "old data: the view is not greyed");
    await audit(page, "old data");
    await page.screenshot({ path: join(folder, "old-data.png") });
  });
  await withState({}, "", async (page) => {
    check((await page.locator("main.old-data").count()) === 0, "new data: the view is greyed");
    fake.state.silent = true; // the appliance stops responding
    await page.waitForSelector("main.old-data", { timeout: 20_000 }).catch(() => note("lost: the view is not greyed"));
  });
}

async function lookAtTimeline() {
  await withState({}, "#/findings?range=6h", async (page) => {
    check((await mainText(page)).includes("Link flaps, host9:mlx5_0-leaf0:9"), "timeline: lacks a fault of the last 6 h");
    await page.getByLabel("Time range").selectOption("15m");
    await page.waitForFunction(() => location.hash.includes("range=15m"));
    check(!(await mainText(page)).includes("Link flaps"), "timeline: shows a fault outside of the last 15 min");
    await page.getByLabel("Time range").selectOption("custom");
    await page.getByLabel("from (UTC)").fill("2020-01-01T00:00:01");
    await page.getByLabel("to (UTC)").fill("2019-01-01T00:00:01");
    await page.getByRole("button", { name: "Apply" }).click();
    check((await mainText(page)).includes("must be before its end"), "timeline: accepts a range that ends before it starts");
    await page.getByLabel("to (UTC)").fill("2020-01-02T00:00:01");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForFunction(() => location.hash.includes("start=2020"));
    await page.getByText("nothing changed in this time range").waitFor().catch(() => note("timeline: an empty range does not say so"));
  });
  await withState({ history: false }, "", async (page) => {
    const text = await mainText(page);
    check(text.includes("No history is configured"), "timeline: does not say that there is no history");
    check((await page.locator(".timeline li").count()) === 3, "timeline: lacks the current findings without a history");
  });
}

async function lookAtStaleLinks() {
  const kOld = "#/findings/flap~host9:mlx5_0-leaf0:9";
  await withState({}, kOld, async (page) => {
    check((await mainText(page)).includes("no longer current"), "past finding: is not shown from the history");
    check((await mainText(page)).includes("replace its cable"), "past finding: lacks its recommended action");
  });
  await withState({ history: false }, kOld, async (page) => {
    check(/No current finding has this ID[\s\S]*no history is configured/.test(await mainText(page)), "stale link: gives no reason");
    check((await page.getByRole("link", { name: /Current findings/ }).count()) === 1, "stale link: has no link to the current findings");
    await audit(page, "stale link");
  });
  for (const hash of ["#/findings/nonsense", "#/findings/gray_loss~~~", "#/findings/%E0%A4"]) {
    await withState({}, hash, async (page) => {
      check((await page.getByRole("link", { name: /Current findings/ }).count()) === 1, `${hash}: has no link to the current findings`);
    });
  }
}

async function lookAtFilter() {
  await withState({}, "#/findings", async (page) => {
    const rows = page.locator("main tbody tr");
    check((await rows.count()) === 4, "findings: the list is incomplete");
    await page.getByRole("combobox", { name: "severity" }).selectOption("critical");
    check((await rows.count()) === 2, "filter: severity does not filter");
    await page.locator(".filter input").fill("host7");
    await page.waitForFunction(() => location.hash.includes("text=host7"));
    check((await rows.count()) === 1, "filter: text does not filter");
    await page.locator(".filter input").fill("nothing like this");
    check((await mainText(page)).includes("No finding matches the filter."), "filter: an empty result does not say so");
    await page.getByRole("button", { name: "Clear" }).click();
    check((await rows.count()) === 4, "filter: cannot be cleared");
  });
}

async function lookAtSearch() {
  await withState({}, "#/jobs/job-a", async (page) => {
    const result = page.locator("#search-results li");
    const find = async (query, kind, hash) => {
      await page.keyboard.press("/");
      await page.getByRole("combobox", { name: "Search all names" }).fill(query);
      const first = await result.first().innerText();
      check(first.startsWith(kind), `search: the first result of "${query}" is "${first}", not a ${kind}`);
      if (query === "host1") await audit(page, "search");
      if (query === "host1") await page.screenshot({ path: join(folder, "search.png") });
      await page.keyboard.press("Enter");
      await page.waitForFunction((wanted) => location.hash.startsWith(wanted), hash).catch(() => note(`search: "${query}" does not open ${hash}`));
      check((await page.locator("dialog[open]").count()) === 0, "search: stays open");
    };
    await find("6656", "QP", "#/jobs/job-a");
    await find("host1", "host", "#/fabric?at=host1");
    await find("10.2.0.8", "address", "#/fabric?at=host7%3Amlx5_2");
    await find("host3:gpu:1", "GPU", "#/fabric?at=host3%3Agpu%3A1");
    await find("leaf1:12", "port", "#/fabric?at=leaf1%3A12");
    await find("silent", "finding", "#/findings/gray_loss");
    await find("finetune", "job", "#/jobs/job-b");
    await find("sources", "view", "#/sources");
    await page.keyboard.press("/");
    await page.keyboard.type("no such name");
    check((await page.locator("dialog[open]").innerText()).includes("No name contains"), "search: an empty result does not say so");
    await page.keyboard.press("Escape");
    check((await page.locator("dialog[open]").count()) === 0, "search: Escape does not close it");
    await page.keyboard.press("/");
    await page.keyboard.type("leaf");
    await page.keyboard.press("ArrowDown");
    check((await page.locator('#search-results [aria-selected="true"]').innerText()).includes("leaf1"), "search: the arrow keys do not move");
  });
}

for (const look of [lookAtSizes, lookAtOverview, lookAtAge, lookAtTimeline, lookAtStaleLinks, lookAtFilter, lookAtSearch]) {
  await look().catch((error) => note(`${look.name}: ${error.message}`));
  Object.assign(fake.state, { dataAgeS: 1, history: true, healthy: false, silent: false });
}
await browser.close();
fake.close();
console.log(problems.length === 0 ? "all passed" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
