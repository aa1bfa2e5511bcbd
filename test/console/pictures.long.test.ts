/** The pictures of the README: six views in one picture for each theme. `ORIEL_GALLERY=write` makes them anew. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeScenes } from '../gallery/scenes.ts';
import { describeConsole } from './browser.ts';

const THEMES = ['light', 'dark'] as const;
const WRITES = process.env['ORIEL_GALLERY'] === 'write';

/** Width of a view in the picture, height, and pixels between two. */
const [WIDTH, HEIGHT, GAP] = [960, 600, 20];

const fileOf = (theme: string) => join(import.meta.dirname, `../gallery/console-${theme}.webp`);

it('the pictures of the console have less than 150 KB each', () => {
  for (const theme of THEMES) expect(statSync(fileOf(theme)).size).toBeLessThan(150_000);
});

if (WRITES) {
  describeConsole('pictures of the console', ({ open, post }) => {
    const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
    beforeAll(() => writeScenes(folder));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    const photo = (name: string) => join(folder, 'photos', `${name}.jpg`);

    /** Views with what a person does in each. */
    const views: readonly (readonly [place: string, act: (page: Page) => Promise<unknown>])[] = [
      [
        'images',
        async (page) => {
          await page.getByLabel('Image files').setInputFiles(['lake', 'dunes', 'night'].map(photo));
          await page.getByRole('button', { name: /^Run/ }).click();
          await page.getByText('3 with a result').first().waitFor();
        },
      ],
      [
        'chat',
        async (page) => {
          const message = 'Explain in one sentence how the lens of a lighthouse works.';
          await page.getByLabel('Message', { exact: true }).fill(message);
          await page.getByRole('button', { name: 'Send', exact: true }).click();
          await page.getByRole('article', { name: 'Answer of' }).getByText('Credits').waitFor();
        },
      ],
      ['create', (page) => page.locator('.tile img').nth(5).waitFor()],
      ['usage', (page) => page.locator('.chart svg').waitFor()],
      ['models', (page) => page.getByRole('region', { name: 'Provider sandbox' }).waitFor()],
      ['requests', (page) => page.getByRole('cell', { name: 'sandbox-chat' }).first().waitFor()],
    ];

    it('are made', async () => {
      for (const prompt of ['a lighthouse at dusk', 'a morning valley', 'the sea at night']) {
        await post('v1/images/generations/sync', { model: 'sandbox-image', prompt, n: 2 });
      }
      for (const content of ['Hello', 'What is a webhook?', 'Name three rivers.']) {
        const messages = [{ role: 'user', content }];
        await post('v1/chat/completions', { model: 'sandbox-chat', messages });
      }
      const shown: Record<string, Buffer[]> = { light: [], dark: [] };
      for (const [place, act] of views) {
        const page = await open(place);
        await act(page);
        for (const colorScheme of THEMES) {
          await page.emulateMedia({ colorScheme });
          const picture = sharp(await page.screenshot());
          shown[colorScheme]!.push(await picture.resize(WIDTH, HEIGHT).png().toBuffer());
        }
      }
      for (const theme of THEMES) {
        const background = theme === 'light' ? '#d0d7de' : '#3d444d';
        const size = { width: 2 * WIDTH + GAP, height: 3 * HEIGHT + 2 * GAP };
        await sharp({ create: { ...size, channels: 3, background } })
          .composite(
            shown[theme]!.map((input, index) => ({
              input,
              left: (index % 2) * (WIDTH + GAP),
              top: Math.floor(index / 2) * (HEIGHT + GAP),
            })),
          )
          .webp({ quality: 70, effort: 6 })
          .toFile(fileOf(theme));
      }
    });
  });
}
