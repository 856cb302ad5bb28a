// What a page has to be on every screen: accessible, small, and not wider than the screen.

import { assert, transferred, violations } from "./support.js";

// Compressed, of everything but images.
const PAGE_BYTES_MAX = 100_000;
const SCREENS = [[1440, 1000, "light"], [1440, 1000, "dark"], [390, 844, "dark"], [360, 780, "light"]];

/** Runs axe in both colours, on a desktop and on a telephone. */
export async function checkAccessible(page) {
  const size = page.viewportSize();
  for (const [width, height, colorScheme] of SCREENS) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    const found = await violations(page);
    assert(found.length === 0, `axe at ${width} pixels, ${colorScheme}: ${found.join("\n")}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(over <= 0, `${over} pixels too wide at ${width}`);
  }
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: null });
}

/** Loads a page until `isReady` is there, without a cache, and prints what came over the line. */
export async function checkSize(browser, url, isReady) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const count = await transferred(page);
  await page.goto(url);
  await page.waitForSelector(isReady);
  const { total, files } = count();
  await context.close();
  console.log(`        ${total} bytes: ${files.join(", ")}`);
  assert(total > 0 && total < PAGE_BYTES_MAX, `${total} bytes: ${files.join(", ")}`);
}
