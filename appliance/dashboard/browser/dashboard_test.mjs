// SPDX-License-Identifier: BSD-3-Clause
// Opens every view of a running appliance in Chromium and checks the content that each run with a job
// and a fault must have. The screenshots are for manual inspection.
//
//   node dashboard_test.mjs BASE_URL SCREENSHOT_DIR
//
// CHROMIUM: path of the browser (default: /usr/bin/chromium).
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { auditPage } from "./accessibility.mjs";
import { settle } from "./settle.mjs";
import { findRawValue } from "./texts.mjs";

const [base, folder] = process.argv.slice(2);
if (!base || !folder) {
  console.error("usage: node dashboard_test.mjs BASE_URL SCREENSHOT_DIR");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kViews = ["overview", "fabric", "jobs", "paths", "hotspots", "findings", "sources"];
const kSizes = { desk: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

const problems = [];
const note = (problem) => {
  problems.push(problem);
  console.error(`FAILED: ${problem}`);
};
const check = (holds, sentence) => {
  if (!holds) note(sentence);
};

// True for documented error responses of the API, which the browser logs as failures too.
async function isDocumented(response) {
  try {
    const { code, message, status, details } = (await response.json()).error;
    return Boolean(code === response.status() && message && status && details[0].reason);
  } catch {
    return false;
  }
}

function watch(page, where) {
  page.on("pageerror", (error) => note(`${where}: ${error.message}`));
  page.on("console", (message) => {
    const expected = message.text().startsWith("Failed to load resource") && message.location().url.includes("/api/v1/");
    if (message.type() === "error" && !expected) note(`${where}: console: ${message.text()}`);
  });
  page.on("requestfailed", (request) => {
    // Closing a page aborts its event stream and its requests.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") note(`${where}: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on("response", async (response) => {
    if (response.status() < 400 || (await isDocumented(response))) return;
    note(`${where}: ${response.status()} ${response.url()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(base).origin)) note(`${where}: requests another origin: ${request.url()}`);
  });
}

async function go(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await settle(page);
}

async function shoot(page, name) {
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

async function checkText(page, where) {
  const raw = await findRawValue(page);
  check(raw === undefined, `${where}: shows the raw value ${raw}`);
}

async function checkWidth(page, where) {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(beyond <= 0, `${where}: the page is ${beyond} px wider than the window`);
}

async function lookAtViews(page, label) {
  for (const [i, view] of kViews.entries()) {
    await page.keyboard.press(String(i + 1));
    await page.waitForFunction((name) => location.hash.startsWith(`#/${name}`), view);
    await settle(page);
    const where = `${label}: ${view}`;
    check((await page.locator("main h1").count()) > 0, `${where}: has no heading`);
    check((await page.locator("main").innerText()).length > 40, `${where}: is empty`);
    await checkText(page, where);
    await checkWidth(page, where);
    await auditPage(page, kAxe, where, note);
    await shoot(page, `${label}-${view}`);
  }
}

async function lookAtFabric(page) {
  await go(page, "#/fabric");
  for (const name of ["CE marks", "Pause time", "Queue", "Load"]) {
    await page.getByRole("radio", { name, exact: true }).check({ force: true }); // its label covers it
  }
  check((await page.locator(".strip, .strip-calm").count()) > 0, "fabric: does not show whether there are faults");
  const canvas = page.locator(".map canvas");
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForTimeout(100);
  check((await page.locator(".panel h2").count()) === 1, "fabric: a focused node shows no details");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Show dependents" }).click();
  await page.locator(".dependents p:not(.loading)").first().waitFor()
    .catch(() => note("fabric: a node's dependents are not shown"));
  await checkText(page, "fabric: dependents");
  const from = await canvas.evaluate((element) => {
    const context = element.getContext("2d");
    const { data } = context.getImageData(0, 0, element.width, element.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  check(from > 8, "fabric: the map is blank");
  await go(page, "#/fabric");
  await page.keyboard.press("Escape");
}

// Takes two communicating hosts from the flows of a job.
async function lookAtPaths(page, job) {
  await go(page, `#/paths?job=${encodeURIComponent(job)}`);
  const ends = page.locator("main tbody tr").first().locator("td .name");
  check((await ends.count()) === 2, "paths: a job has no pairs");
  if ((await ends.count()) !== 2) return;
  const [source, destination] = await ends.allInnerTexts();
  await go(page, "#/paths");
  await page.getByLabel("From", { exact: true }).fill(source);
  await page.getByLabel("to", { exact: true }).fill(destination);
  await page.getByRole("button", { name: "Show paths" }).click();
  await settle(page);
  await page.locator("main td.toggle button").first().click();
  check((await page.locator("main .path-interval").count()) > 0, `paths: none from ${source} to ${destination}`);
  await checkText(page, "desk: paths of two ends");
  await auditPage(page, kAxe, "desk: paths of two ends", note);
  await shoot(page, "desk-paths-of-two");
  await page.getByRole("link", { name: "On the map" }).click();
  await settle(page);
  check((await page.locator(".ends select").count()) === 2, "fabric: the two ends are not shown");
  await shoot(page, "desk-fabric-paths");
}

async function lookAtJob(page) {
  await go(page, "#/jobs");
  const links = page.locator("main [data-item]");
  check((await links.count()) > 0, "jobs: the list is empty");
  if ((await links.count()) === 0) return undefined;
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/jobs/"));
  await settle(page);
  const job = decodeURIComponent(new URL(page.url()).hash.split("/")[2] ?? "");
  for (const tab of ["Overview", "Ranks", "Collectives", "Paths", "Service levels", "History"]) {
    await page.locator(".tabs").getByRole("link", { name: tab, exact: true }).click();
    await settle(page);
    const where = `desk: job: ${tab}`;
    if (tab === "Ranks") check((await page.locator("main tbody tr").count()) > 1, "job: has no ranks");
    check((await page.locator("main").innerText()).length > 100, `${where}: is empty`);
    await checkText(page, where);
    await auditPage(page, kAxe, where, note);
    await shoot(page, `desk-job-${tab.toLowerCase().replace(" ", "-")}`);
  }
  return job;
}

async function lookAtFindings(page) {
  await go(page, "#/findings");
  const findings = page.locator("main td a[data-item]");
  check((await findings.count()) > 0, "findings: the list is empty");
  if ((await findings.count()) > 0) {
    const ongoing = await page.locator("main td .tag-ongoing").count();
    check((await page.locator("header .badge").count()) > 0 || ongoing === 0, "findings: the header does not count them");
    await findings.first().click();
    await page.waitForSelector("main .finding-page");
    await settle(page);
    check((await page.locator(".evidence li").count()) > 0, "finding: has no evidence");
    await checkText(page, "desk: finding");
    await auditPage(page, kAxe, "desk: finding", note);
    await shoot(page, "desk-finding");
  }
  await go(page, "#/hotspots");
  const hotspot = page.locator("main td.toggle button").first();
  if ((await hotspot.count()) > 0) {
    await hotspot.click();
    await checkText(page, "desk: open hotspot");
    await auditPage(page, kAxe, "desk: open hotspot", note);
    await shoot(page, "desk-hotspot");
  }
  await page.keyboard.press("Shift+?");
  await page.locator("dialog[open]").waitFor().catch(() => note("keys: ? does not open the help"));
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" }).catch(() => note("keys: Escape does not close the help"));
  await go(page, "#/jobs/no-such-job");
  check((await page.locator(".notice-refused, .notice-caution").count()) > 0, "job: an unknown job is not reported as unknown");
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of Object.entries(kSizes)) {
    if (colorScheme === "dark" && size === "phone") continue;
    const label = `${size}${colorScheme === "dark" ? "-dark" : ""}`;
    const context = await browser.newContext({ viewport, colorScheme, ignoreHTTPSErrors: true });
    const page = await context.newPage();
    watch(page, label);
    await page.goto(base);
    await settle(page);
    await lookAtViews(page, label);
    if (label === "desk") {
      await lookAtFabric(page);
      const job = await lookAtJob(page);
      if (job) await lookAtPaths(page, job);
      await lookAtFindings(page);
    }
    if (label === "phone") {
      await page.locator("nav a").nth(2).click();
      const job = page.locator("main [data-item]").first();
      if ((await job.count()) > 0) {
        await job.click();
        await settle(page);
        await checkWidth(page, "phone: job");
        await shoot(page, "phone-job");
      }
    }
    await context.close();
  }
}
await browser.close();
console.log(problems.length === 0 ? "all views passed" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
