// SPDX-License-Identifier: BSD-3-Clause
// Opens the views on the fake appliance, which has a history and known values, and checks what a click
// changes, and states that a running appliance does not have at will: old telemetry, no history, no faults.
// Requires dist/ (npm run build). The screenshots are for manual inspection.
//
//   node fake_test.mjs SCREENSHOT_DIR [NAME]   # NAME: a part of the name of the checks to run
//
// CHROMIUM: path of the browser (default: /usr/bin/chromium).
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { auditPage } from "./accessibility.mjs";
import { startFakeAppliance } from "./fake_appliance.mjs";
import { faultChecks } from "./fault_checks.mjs";
import { jobChecks } from "./job_checks.mjs";
import { pastChecks } from "./past_checks.mjs";
import { reviewChecks } from "./review_checks.mjs";
import { findRawValue } from "./texts.mjs";

const [folder, name = ""] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node fake_test.mjs SCREENSHOT_DIR [NAME]");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kTimeoutMs = 120_000; // a busy machine is slow

const problems = [];
const note = (problem) => {
  problems.push(problem);
  console.error(`FAILED: ${problem}`);
};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

const tools = {
  note,
  check(holds, sentence) {
    if (!holds) note(sentence);
  },
  async open(options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(kTimeoutMs);
    page.setDefaultNavigationTimeout(kTimeoutMs);
    page.on("pageerror", (error) => note(`${page.url()}: ${error.message}`));
    await page.addInitScript(() => {
      window.shift = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.shift += entry.hadRecentInput ? 0 : entry.value)))
        .observe({ type: "layout-shift", buffered: true });
    });
    return page;
  },
  async audit(page, where) {
    const raw = await findRawValue(page);
    if (raw !== undefined) note(`${where}: shows the raw value ${raw}`);
    await auditPage(page, kAxe, where, note);
  },
  // The columns that can be reached: each table fits, or scrolls in its own box.
  async checkWidth(page, where) {
    const { beyond, cut } = await page.evaluate(() => ({
      beyond: document.documentElement.scrollWidth - window.innerWidth,
      cut: [...document.querySelectorAll("main table")].filter((table) =>
        table.getBoundingClientRect().right > window.innerWidth && !table.closest(".table-box")).length,
    }));
    if (beyond > 0) note(`${where}: the page is ${beyond} px wider than the window`);
    if (cut > 0) note(`${where}: ${cut} tables are cut`);
  },
  shoot: (page, name, fullPage = true) => page.screenshot({ path: join(folder, `${name}.png`), fullPage, timeout: kTimeoutMs }),
};

const fakes = {
  changing: await startFakeAppliance(0), // its state changes
  reviewed: await startFakeAppliance(0), // its findings are acknowledged and muted
  steady: await startFakeAppliance(0),
  withoutHistory: await startFakeAppliance(0, { history: false }),
  large: await startFakeAppliance(0, { hosts: 1024 }),
};
async function run(checks) {
  for (const look of checks.filter((candidate) => candidate.name.includes(name))) {
    await look().catch((error) => note(`${look.name}: ${error.message.split("\n")[0]}`));
  }
}
try {
  // At the same time, because the browser is idle while a page waits.
  await Promise.all([...faultChecks(tools, fakes), ...jobChecks(tools, fakes), ...pastChecks(tools, fakes), ...reviewChecks(tools, fakes)].map(run));
} finally {
  await browser.close();
  Object.values(fakes).forEach((fake) => fake.close());
}
console.log(problems.length === 0 ? "all views passed" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
