import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Download, Page, Route } from 'playwright-core';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { readZip } from '../../src/console/views/images/zip.ts';
import { READERS } from '../../src/images/program-formats.ts';
import { OWNER_KEY } from '../daemon.ts';
import { photo } from '../fixtures/images.ts';
import { gate } from '../gate.ts';
import { oriel, shell, temporaryFolder } from '../oriel.ts';
import { describeConsole } from './browser.ts';

const picture = (width: number, height: number, format: 'jpeg' | 'png' | 'tiff' = 'jpeg') =>
  photo({ width, height }).toFormat(format, { quality: 95 }).toBuffer();

const file = (name: string, buffer: Buffer, mimeType = 'image/jpeg') => ({
  ...{ name, mimeType, buffer },
});

/** The first bytes of a Photoshop file, by which it is recognised. */
const PHOTOSHOP = Buffer.from('8BPS\0\x01');

async function add(page: Page, ...files: readonly ReturnType<typeof file>[]): Promise<void> {
  await page.getByLabel('Image files').setInputFiles([...files]);
}

const run = (page: Page) => page.getByRole('button', { name: /^Run/ }).click();

async function download(page: Page, name: string): Promise<Download> {
  const button = page.getByRole('button', { name, exact: true });
  const [saved] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return saved;
}

const status = (page: Page) => page.getByRole('main').getByRole('status');

describeConsole('the view of images', ({ open, post, createKey, signIn, check, allow }) => {
  it('converts files of all kinds, compares and saves them, and says why some fail', async () => {
    const page = await open('images');
    await page.getByText('Drop images or folders here').waitFor();
    await check(page, 'images-empty');
    const accepted = await page.getByLabel('Image files').getAttribute('accept');
    const extensions = Object.values(READERS).flatMap((reader) => reader.extensions);
    expect(extensions.filter((one) => !accepted!.split(',').includes(`.${one}`))).toEqual([]);
    const photo = await picture(1200, 800);
    await add(
      page,
      file('lighthouse.jpg', photo),
      file('<img src=x>\u202egpj.png', await picture(300, 200, 'png'), 'image/png'),
      file(`${'long '.repeat(2000)}.jpg`, await picture(64, 64)),
      file('scan.tiff', await picture(200, 300, 'tiff'), 'image/tiff'),
      file('broken.jpg', Buffer.from('not an image')),
      file('layers.psd', PHOTOSHOP, ''),
    );
    await page.getByLabel('Quality', { exact: true }).fill('500');
    await run(page);
    await page.getByText('Use a whole number from 1 to 100.').waitFor();
    await page.getByLabel('Quality', { exact: true }).fill('70');
    await page.waitForURL(/images\/convert\?format=webp&quality=70$/);
    await run(page);
    await status(page).getByText('4 with a result, 2 failed').waitFor();
    const list = page.getByRole('list', { name: 'Images' });
    expect(await list.getByText('Failed').count()).toBe(2);
    await check(page, 'images-converted');
    const slider = page.getByRole('slider', { name: 'Border between before and after' });
    await slider.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('PageUp');
    await page.keyboard.press('ArrowRight');
    expect(await slider.getAttribute('aria-valuenow')).toBe('11');
    const box = (await slider.boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 300, box.y + 20);
    await page.mouse.up();
    expect(Number(await slider.getAttribute('aria-valuenow'))).toBeGreaterThan(30);
    await page.getByRole('button', { name: '1:1' }).click();
    const width = () => page.getByAltText('After').evaluate((image) => image.clientWidth);
    expect(await width()).toBe(1200);
    await check(page, 'images-zoomed');
    const saved = await download(page, 'Save');
    expect(saved.suggestedFilename()).toBe('lighthouse.webp');
    const bytes = readFileSync(await saved.path());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 1200 });
    await list.getByRole('button', { name: 'layers.psd', exact: true }).click();
    await page.getByText('unsupported_format').waitFor();
    await check(page, 'images-failed');
    const archive = await download(page, 'Save all as ZIP');
    await promisify(execFile)('unzip', ['-tq', await archive.path()]);
    const entries = await readZip(new Blob([readFileSync(await archive.path())]));
    expect(entries).toHaveLength(5);
    expect(entries.map(({ name }) => name)).toContain('lighthouse.webp');
  });

  it('shows palettes, metadata, hashes and sizes, and keeps each at an address', async () => {
    const page = await open('images/palette');
    await page.getByRole('button', { name: 'Use a sample' }).click();
    await page.getByLabel('Count', { exact: true }).fill('3');
    await page.waitForURL(/images\/palette\?count=3$/);
    await run(page);
    const colours = page.getByRole('list', { name: 'Colours' });
    await colours.getByRole('listitem').nth(2).waitFor();
    const copy = colours.getByRole('button', { name: /^Copy #/ });
    await copy.first().click();
    await page.getByText(/^Copied #[0-9a-f]{6}$/).waitFor();
    await page.getByLabel('Values as').selectOption('rgb');
    const rgb = colours.getByText(/^rgb\(\d+ \d+ \d+\)$/);
    await rgb.first().waitFor();
    await check(page, 'images-palette');
    for (const [operation, property] of [
      ['metadata', 'Media type'],
      ['hash', 'SHA-256'],
      ['placeholder', 'BlurHash'],
      ['size-map', 'Target'],
    ] as const) {
      await page.getByLabel('Operation', { exact: true }).selectOption(operation);
      await page.waitForURL(new RegExp(`images/${operation}$`));
      await run(page);
      await page.getByRole('rowheader', { name: property, exact: true }).waitFor();
    }
    const paste = (type: string) =>
      page.evaluate((other) => {
        const clipboardData = new DataTransfer();
        clipboardData.items.add(new File(['pasted'], 'pasted.png', { type: 'image/png' }));
        clipboardData.items.add('text', other);
        dispatchEvent(new ClipboardEvent('paste', { clipboardData }));
      }, type);
    await paste('text/plain');
    await paste('text/html');
    await page.getByRole('button', { name: 'pasted.png', exact: true }).waitFor();
    await status(page).getByText('2 images').waitFor();
    for (let steps = 0; steps < 4; steps += 1) await page.goBack();
    expect(await page.getByLabel('Count', { exact: true }).inputValue()).toBe('3');
    await page.getByText('made with other options').waitFor();
  });

  it('runs recipes and lays over a logo, with the faults of the server at their fields', async () => {
    allow(/status of 400/);
    const page = await open('images/run');
    await page.getByRole('button', { name: 'Use a sample' }).click();
    await page.getByLabel('Recipe', { exact: true }).selectOption('srcset');
    await run(page);
    const results = page.getByLabel(/^Result, \d+ in all$/);
    await results.waitFor();
    await results.selectOption('1');
    await page.getByText('The same from a program').click();
    await page.getByRole('tab', { name: 'Command line' }).click();
    const command = (await page.getByRole('region', { name: 'Command line' }).textContent())!;
    expect(command).toBe('oriel run srcset --out results sample.png');
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'sample.png'), await picture(320, 240, 'png'));
    expect(await oriel(command.split(' ').slice(1), { cwd: folder })).toMatchObject({ code: 0 });

    await page.getByLabel('Recipe', { exact: true }).selectOption('Your own, in YAML');
    const text = page.getByLabel('Recipe in YAML');
    expect(await text.inputValue()).toContain('outputs:');
    await text.fill('steps:\n  - resiz: { width: 80 }\n');
    await run(page);
    await page.getByRole('alert').getByText('resiz').waitFor();
    expect(await text.evaluate((field) => document.activeElement === field)).toBe(true);
    await check(page, 'images-recipe');
    await text.fill('steps: # @a; "b"\n  - resize: { width: 80 }\noutputs:\n  - format: webp\n');
    await run(page);
    await page.getByText('sample.webp').first().waitFor();
    await page.getByRole('tab', { name: 'curl' }).click();
    const curl = (await page.getByRole('region', { name: 'curl' }).textContent())!;
    const env = { ORIEL_API_KEY: OWNER_KEY };
    const line = `${curl.replace('oriel.test', '127.0.0.1')} -sf && unzip -tq run.zip`;
    expect(await shell(line, { cwd: folder, env })).toMatchObject({ code: 0 });
    await page.reload();
    expect(await text.inputValue()).toContain('width: 80');

    await page.getByRole('button', { name: 'Use a sample' }).click();
    await page.getByLabel('Operation', { exact: true }).selectOption('overlay');
    const logo = file('logo.png', await picture(40, 40, 'png'), 'image/png');
    await page.getByLabel('Image', { exact: true }).setInputFiles(logo);
    await page.getByRole('button', { name: 'Remove logo.png' }).waitFor();
    await run(page);
    await page.getByRole('alert').getByText('cannot be used with image').waitFor();
    await page.getByLabel('Text', { exact: true }).fill('');
    await run(page);
    await status(page).getByText('1 with a result').waitFor();
    await check(page, 'images-overlay');
  });

  it('takes folders of 120 files, waits for limits, and goes on after a stop and a refusal', async () => {
    allow(/status of 4(29|02)|ERR_FAILED/);
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'holiday', 'deep'), { recursive: true });
    const small = await picture(16, 16, 'png');
    const names = Array.from({ length: 120 }, (_, index) => `deep/${index}.png`);
    for (const name of [...names, 'top.png', '.hidden.png', 'notes.txt']) {
      writeFileSync(join(folder, 'holiday', name), small);
    }
    const page = await open('images/hash');
    await page.getByText('Drop images or folders here').waitFor();
    const session = await page.context().newCDPSession(page);
    const drag = (type: 'dragEnter' | 'dragOver' | 'drop') =>
      session.send('Input.dispatchDragEvent', {
        ...{ type, x: 500, y: 300 },
        data: { items: [], files: [join(folder, 'holiday')], dragOperationsMask: 1 },
      });
    await drag('dragEnter');
    await drag('dragOver');
    await page.getByText('Drop to add').waitFor();
    await drag('drop');
    await page.getByText('Left out: 2 other files in the folder.').waitFor();
    await status(page).getByText('121 images').waitFor();
    await page.getByLabel('Folder of images').setInputFiles(join(folder, 'holiday'));
    await page.getByText('121 already in the list').waitFor();

    let answer = (_request: Route): unknown => new Promise(() => {});
    await page.route('**/api/free/**', (route) => answer(route));
    await page.clock.install();
    await run(page);
    await status(page).getByText('121 in progress').waitFor();
    await page.getByRole('button', { name: 'Cancel holiday/deep/0.png' }).click();
    await status(page).getByText('120 in progress').waitFor();
    await check(page, 'images-progress');
    await page.getByRole('button', { name: 'Stop' }).click();

    const refusals = [429, 429, 402];
    const { passed: released, open: release } = gate();
    answer = async (route) => {
      const code = refusals.shift();
      if (code === undefined) return route.continue();
      // The refusal that ends the work comes after the reader saw the one that delays it.
      if (code === 402) await released;
      const error = { type: 'rate_limit', message: `refused ${code}`, code: null, param: null };
      const headers = { 'retry-after': '3000' };
      return route.fulfill({ status: code, headers, json: { error } });
    };
    await run(page);
    await page.getByText('Work continues by itself').waitFor();
    await page.clock.fastForward(3_600_000);
    await status(page).getByText('with a result').waitFor();
    release();
    await page.getByRole('alert').getByText('refused 402').first().waitFor();
    await page.unroute('**/api/free/**');
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await status(page).getByText('121 images, 121 with a result').waitFor();
    const saved = await download(page, 'Save reports as JSON');
    const { results } = JSON.parse(readFileSync(await saved.path(), 'utf8')) as {
      results: { inputFilename: string }[];
    };
    expect(new Set(results.map(({ inputFilename }) => inputFilename)).size).toBe(121);
  });

  it('keeps files while the session is renewed, for their account alone, and revokes their addresses', async () => {
    allow(/status of 401/);
    const first = await createKey('owner');
    const page = await open('images/resize?width=90', { key: first });
    await page.addInitScript(() => {
      const live = new Set<string>();
      const { createObjectURL: create, revokeObjectURL: revoke } = URL;
      URL.createObjectURL = (blob: Blob) => {
        const url = create.call(URL, blob);
        live.add(url);
        return url;
      };
      URL.revokeObjectURL = (url: string) => {
        live.delete(url);
        revoke.call(URL, url);
      };
      Object.assign(window, { live });
    });
    await page.reload();
    const [one, two] = await Promise.all([picture(300, 200), picture(200, 300)]);
    await add(page, file('one.jpg', one), file('two.jpg', two));
    await run(page);
    await status(page).getByText('2 with a result').waitFor();
    await page.getByLabel('Width', { exact: true }).fill('120');
    await page.waitForURL(/width=120/);
    await post('v1/admin/keys/revoke', { id: first });
    await run(page);
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
    const second = await createKey('owner');
    await signIn(page, second);
    await page.getByText('The session ended before all images were done.').waitFor();
    expect(await page.getByLabel('Width', { exact: true }).inputValue()).toBe('120');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('120 × 80', { exact: true }).waitFor();
    const live = () => page.evaluate(() => (window as unknown as { live: Set<string> }).live.size);
    expect(await live()).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Remove one.jpg' }).click();
    await page.getByRole('heading', { name: 'two.jpg' }).waitFor();

    await post('v1/admin/keys/revoke', { id: second });
    await run(page);
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
    await signIn(page, await createKey('guest', { plan: 'free' }));
    await page.getByText('This account is on the free plan.').waitFor();
    expect(await page.getByText('two.jpg').count()).toBe(0);
    await expect.poll(live).toBe(0);
    await check(page, 'images-free');
  });
});
