// SPDX-License-Identifier: BSD-3-Clause
// Opens the views on an imaginary appliance (mock_appliance.mjs), which has a history and known values,
// and checks what a click changes. Run `npm run build` first. The screenshots are for manual inspection.
//
//   node mock_test.mjs SCREENSHOT_DIR [PORT]
//
// CHROMIUM: path of the browser (default: /usr/bin/chromium). PORT (default: 28089) and the next two
// must be free.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { auditPage } from "./accessibility.mjs";
import { findRawValue } from "./texts.mjs";

const [folder, portText = "28089"] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node mock_test.mjs SCREENSHOT_DIR [PORT]");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const kPort = Number(portText);
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kTimeoutMs = 120_000; // a busy machine is slow
const kJob = "#/jobs/slurm-4711";
const kLink = "leaf0:Ethernet101-spine1:Ethernet0";
const kMaxShift = 0.1; // cumulative layout shift; above, web.dev calls a page in need of improvement

const problems = [];
const note = (problem) => {
  problems.push(problem);
  console.error(`FAILED: ${problem}`);
};
const check = (holds, sentence) => {
  if (!holds) note(sentence);
};

function startMock(port, hosts, ...options) {
  const script = fileURLToPath(new URL("mock_appliance.mjs", import.meta.url));
  const mock = spawn(process.execPath, [script, String(port), String(hosts), ...options], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    mock.stdout.once("data", () => resolve(mock));
    mock.once("exit", () => reject(new Error(`cannot serve at port ${port}`)));
  });
}

async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(kTimeoutMs);
  page.setDefaultNavigationTimeout(kTimeoutMs);
  page.on("pageerror", (error) => note(`${page.url()}: ${error.message}`));
  return page;
}

async function settle(page) {
  await page.waitForFunction(() => !document.querySelector("main .loading"));
  await page.waitForTimeout(400);
}

async function go(page, hash, port = kPort) {
  await page.goto(`http://127.0.0.1:${port}/${hash}`);
  await settle(page);
}

const texts = (page, selector) => page.locator(selector).allInnerTexts();

// The columns that can be reached: each table fits, or scrolls in its own box.
async function checkWidth(page, where) {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(beyond <= 0, `${where}: the page is ${beyond} px wider than the window`);
  const cut = await page.evaluate(() => [...document.querySelectorAll("main table")].filter((table) =>
    table.getBoundingClientRect().right > window.innerWidth && !table.closest(".table-box")).length);
  check(cut === 0, `${where}: ${cut} tables are cut`);
}

async function download(page, button) {
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
}

async function lookAtJobs(page) {
  await go(page, "#/jobs");
  check((await texts(page, "main tbody tr td:first-child a"))[0] === "pretrain-70b", "jobs: the job with a fault is not the first");
  check((await page.locator("svg.sparkline").count()) >= 3, "jobs: there are no sparklines");
  const csv = await download(page, page.getByRole("button", { name: /Save Jobs as CSV/ }));
  check(csv.name === "jobs.csv", `jobs: the file is called ${csv.name}`);
  const lines = csv.content.toString().trimEnd().split("\r\n");
  check(lines.length === 5 && lines[1].startsWith("pretrain-70b,"), `jobs: the CSV contains ${lines.length} lines, first ${lines[1]}`);
  const json = await download(page, page.getByRole("button", { name: /Save Jobs as JSON/ }));
  check(JSON.parse(json.content.toString())[0].job_id === "slurm-4711", "jobs: the JSON does not have the order of the table");
  await go(page, `${kJob}?tab=ranks`);
  const ranks = (await page.locator("main table").first().locator("td:nth-child(2)").allInnerTexts()).slice(0, 3);
  check(ranks.join() === "straggler,retransmissions,CE marks", `ranks: those with trouble are not the first: ${ranks}`);
  await go(page, `${kJob}?tab=collectives`);
  check((await page.locator(".lane-small").count()) === 3 && (await page.locator(".lane-wait").count()) === 2, "collectives: the swimlane of the straggler is missing");
}

async function lookAtHistory(page) {
  await go(page, `${kJob}?tab=history`);
  await page.locator(".chart canvas").first().waitFor();
  check((await page.locator(".chart").count()) === 5, "history: charts are missing");
  const label = await page.locator(".plot[role=img]").first().getAttribute("aria-label");
  check(/^Iteration time\. iteration time: 4\d\d ms to 6\d\d ms, last \d+ ms\.$/.test(label), `history: the text alternative is ${label}`);
  const over = page.locator(".chart .u-over").first();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 30);
  await page.waitForTimeout(200);
  const values = await texts(page, ".chart .u-series:first-child .u-value");
  check(values[0] !== "" && values.every((value) => value === values[0]), `history: the charts do not share the cursor: ${values}`);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes("start="));
  await settle(page);
  const query = new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
  const minutes = (Date.parse(query.get("end")) - Date.parse(query.get("start"))) / 60e3;
  check(minutes >= 14 && minutes <= 18, `history: a quarter of an hour was selected, and ${minutes} min are shown`);
  await page.reload();
  await settle(page);
  check((await page.locator(".chart").count()) === 5, "history: the link to a range does not show it");
  const png = await download(page, page.getByRole("button", { name: /Save Iteration time.* as PNG/ }));
  check(png.content.subarray(1, 4).toString() === "PNG" && png.content.length > 2000, `history: ${png.name} is not an image`);
  await page.locator("label").filter({ hasText: /^7 d$/ }).click();
  await page.waitForFunction(() => location.hash.includes("range=7d"));
  await settle(page);
  await go(page, `${kJob}?tab=history&start=2020-01-01T00:00Z&end=2020-01-01T01:00Z`);
  check((await texts(page, ".notice"))[0]?.startsWith("No data of this job from 2020-01-01 00:00 to 01:00 UTC"), "history: does not state that a range has no data");
  await go(page, `${kJob}?tab=history`, kPort + 1);
  check((await texts(page, ".notice"))[0]?.startsWith("History is not configured"), "history: does not state that it is not configured");
}

async function lookAtHotspots(page) {
  await go(page, "#/hotspots");
  check((await texts(page, "main tbody tr td:nth-child(2)"))[0] === "leaf0:Ethernet101", "hotspots: the most expensive port is not the first");
  await page.getByLabel("Cause").selectOption("incast");
  await page.getByLabel("Port contains").fill("LEAF2");
  await page.waitForFunction(() => location.hash.includes("cause=incast") && location.hash.includes("port=LEAF2"));
  await page.reload();
  await settle(page);
  const ports = await texts(page, "main tbody tr td:nth-child(2)");
  check(ports.length > 0 && ports.every((port) => port.startsWith("leaf2:")), `hotspots: the filters of the URL do not apply: ${ports}`);
  await page.locator("td.toggle button").first().press("Enter");
  check((await page.locator(".hotspot").count()) > 0, "hotspots: a port has no details");
  await page.getByLabel("Port contains").fill("no such port");
  check((await texts(page, ".notice"))[0] === "No hotspot matches the filters.", "hotspots: does not state that no hotspot matches");
}

async function lookAtPaths(page) {
  await go(page, "#/paths");
  check((await page.locator("h2").first().innerText()).includes("pretrain-70b, the job with most trouble"), "paths: the default is not the job with most trouble");
  check((await page.locator("main tbody tr").count()) > 4, "paths: the default shows no pairs");
  await page.getByLabel("From", { exact: true }).pressSequentially("gpu-12:ml");
  const options = await page.locator("#names-of-source option").evaluateAll((all) => all.map((one) => one.value));
  check(options.join() === "gpu-12:mlx5_0,gpu-12:mlx5_1", `paths: suggests ${options}`);
}

async function lookAtLink(page) {
  await go(page, `#/fabric?at=${kLink}`);
  await page.locator(".chart").first().waitFor();
  await page.locator("main .table-frame a", { hasText: /^rank / }).first().waitFor();
  check((await page.locator(".chart").count()) === 4, "link: charts are missing");
  check((await page.locator("section", { hasText: "Faults of" }).getByText("loses 0.9 %").count()) > 0, "link: its fault is not shown");
  await page.locator("main .table-frame a", { hasText: /^rank / }).first().click();
  await page.waitForFunction(() => location.hash.startsWith("#/jobs/slurm-4711?tab=paths&rank="));
  await settle(page);
  check((await page.locator("main tbody tr").count()) > 0, "link: a rank of a flow does not lead to its flows");
  await page.locator("main tbody a", { hasText: "leaf" }).first().click();
  await page.waitForFunction(() => location.hash.startsWith("#/fabric?at=leaf"));
}

async function lookAtGroups(page) {
  await go(page, "#/fabric", kPort + 2);
  check((await page.locator(".group-bar").innerText()).startsWith("16 pods."), "fabric: 1,024 hosts are not grouped by pod");
  await page.getByLabel("Open a pod").selectOption("pod 3");
  await page.waitForFunction(() => decodeURIComponent(location.hash).replace("+", " ").includes("open=pod 3"));
  check((await page.getByRole("button", { name: "Close pod 3" }).count()) === 1, "fabric: an open pod cannot be closed");
  await page.locator("summary", { hasText: "Heat map of load: 32 leaf switches × 4 spine switches" }).click();
  await page.locator("canvas.heat").hover({ position: { x: 3, y: 3 } });
  check(/^leaf0:Ethernet100 – spine0:Ethernet0: \d+ %/.test(await page.locator(".heat-text").innerText()), "fabric: a cell of the heat map does not name its link");
  await auditPage(page, kAxe, "fabric, 1,024 hosts", note);
  await page.screenshot({ path: join(folder, "fabric-of-1024.png"), fullPage: true, timeout: kTimeoutMs });
}

const kPages = {
  jobs: "#/jobs", job: kJob, ranks: `${kJob}?tab=ranks`, collectives: `${kJob}?tab=collectives`, "job-paths": `${kJob}?tab=paths`,
  levels: `${kJob}?tab=levels`, history: `${kJob}?tab=history`, hotspots: "#/hotspots", paths: "#/paths", link: `#/fabric?at=${kLink}`,
};

async function lookAtAll(browser, colorScheme, width) {
  const page = await open(browser, { colorScheme, viewport: { width, height: 900 } });
  await page.addInitScript(() => {
    window.shift_ = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.shift_ += entry.hadRecentInput ? 0 : entry.value)))
      .observe({ type: "layout-shift", buffered: true });
  });
  for (const [name, hash] of Object.entries(kPages)) {
    const where = `${name}, ${colorScheme}, ${width} px`;
    await page.goto("about:blank");
    await go(page, hash);
    await page.waitForTimeout(1500); // a refresh of the data must not move anything
    const shift = await page.evaluate(() => window.shift_);
    check(shift <= kMaxShift, `${where}: layout shift of ${shift.toFixed(3)}`);
    const raw = await findRawValue(page);
    check(raw === undefined, `${where}: shows the raw value ${raw}`);
    await checkWidth(page, where);
    await auditPage(page, kAxe, where, note);
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true, timeout: kTimeoutMs });
  }
  await page.context().close();
}

const mocks = [await startMock(kPort, 16), await startMock(kPort + 1, 16, "--without-history"), await startMock(kPort + 2, 1024)];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await open(browser);
  for (const look of [lookAtJobs, lookAtHistory, lookAtHotspots, lookAtPaths, lookAtLink, lookAtGroups]) {
    await look(page).catch((error) => note(`${look.name}: ${error.message.split("\n")[0]}`));
  }
  await lookAtAll(browser, "light", 1280);
  await lookAtAll(browser, "dark", 390);
} finally {
  await browser.close();
  mocks.forEach((mock) => mock.kill());
}
console.log(problems.length === 0 ? "all views passed" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
