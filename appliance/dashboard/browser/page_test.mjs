// SPDX-License-Identifier: BSD-3-Clause
// Opens a file that `rocescope replay -o html` wrote. It must show every view and make no network
// request.
//
//   node page_test.mjs FILE SCREENSHOT_DIR
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { findRawValue } from "./texts.mjs";

const [file, folder] = process.argv.slice(2);
if (!file || !folder) {
  console.error("usage: node page_test.mjs FILE SCREENSHOT_DIR");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const url = pathToFileURL(resolve(file)).href;
const problems = [];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.on("pageerror", (error) => problems.push(error.message));
page.on("console", (message) => {
  if (message.type() === "error") problems.push(`console: ${message.text()}`);
});
page.on("request", (request) => {
  if (!request.url().startsWith(url)) problems.push(`requests another origin: ${request.url()}`);
});
await page.goto(url);
await page.waitForSelector("main h1");
if ((await page.locator('nav a[href^="#/sources"]').count()) > 0) problems.push("a file offers the view of the sources");
for (const [i, view] of ["overview", "fabric", "jobs", "paths", "hotspots", "findings"].entries()) {
  await page.keyboard.press(String(i + 1));
  await page.waitForFunction((name) => location.hash.startsWith(`#/${name}`), view);
  await page.waitForTimeout(400);
  const text = await page.locator("main").innerText();
  if ((await page.locator("main h1").count()) === 0) problems.push(`${view}: has no heading`);
  if (text.length < 40) problems.push(`${view}: is empty`);
  const raw = await findRawValue(page);
  if (raw !== undefined) problems.push(`${view}: shows the raw value ${raw}`);
  await page.screenshot({ path: join(folder, `file-${view}.png`), fullPage: true });
}
// Follows links, a few of each kind: each view must show data.
const followed = new Map();
const toFollow = new Set();
const collect = async () => (await page.locator('a[href^="#/"]').evaluateAll((found) => found.map((link) => link.getAttribute("href")))).forEach((link) => toFollow.add(link));
await collect();
for (const link of toFollow) {
  const kind = link.replace(/^(#\/\w+)\/[^?]+/, "$1/NAME").replace(/=[^&]*/g, "");
  const count = followed.get(kind) ?? 0;
  if (count >= 4) continue;
  followed.set(kind, count + 1);
  await page.evaluate((hash) => (location.hash = hash), link);
  await page.waitForTimeout(150);
  const wrong = /.{0,60}(does not contain|is not in the topology|unknown (job|finding)|loading).{0,60}/i.exec(await page.locator("main").innerText());
  if (wrong) problems.push(`${link} is not answered: ${wrong[0]}`);
  await collect();
}
await page.keyboard.press("3");
await page.waitForTimeout(300);
const job = page.locator("main [data-item]").first();
if ((await job.count()) === 0) problems.push("jobs: the list is empty");
else {
  await job.click();
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, "file-job.png"), fullPage: true });
  if (/does not contain/.test(await page.locator("main").innerText())) {
    problems.push("the job view lacks data that the file must contain");
  }
}
await browser.close();
for (const problem of problems) console.error(`FAILED: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);
