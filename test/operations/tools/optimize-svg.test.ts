import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { runBatch, runOne } from '../../batch.ts';
import { ROOT, temporaryFolder } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';

const oriel = residentCommand();

const svg = (body: string, { attributes = 'width="60" height="40"', before = '' } = {}) =>
  Buffer.from(
    `${before}<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${attributes}>${body}</svg>`,
  );
const SQUARE = '<rect width="30" height="20" fill="#ff0000"/>';
const WASTE = '\n  <!-- drawn by hand -->\n  <g>\n  </g>\n';

const ARGUMENTS = ['optimize', '--allow-svg'];

/** The largest difference of a level in drawings with this longest side, colours weighed by their opacity. */
async function difference(one: Uint8Array, other: Uint8Array, side: number): Promise<number> {
  const [first, second] = await Promise.all(
    [one, other].map((bytes) =>
      sharp(bytes).resize({ width: side }).ensureAlpha().raw().toBuffer(),
    ),
  );
  const weighed = (levels: Buffer, at: number) =>
    (at & 3) === 3 ? levels[at]! : (levels[at]! * levels[at | 3]!) / 255;
  expect(second!.length).toBe(first!.length);
  return first!.reduce(
    (most, _, at) => Math.max(most, Math.abs(weighed(first!, at) - weighed(second!, at))),
    0,
  );
}

test('optimize writes smaller SVG whose drawing differs by at most 16 of 255', async () => {
  const drawings = ['src/console/app/icon.svg', 'test/soak/soak.svg'];
  const files = {
    ...Object.fromEntries(
      drawings.map((path, index) => [`${index}.svg`, readFileSync(join(ROOT, path))]),
    ),
    'curves.svg': svg(
      `${WASTE}<path d="M 10.000001 10.000002 C 20.123456 0.5 40 0.5 50 10 L 50 30 L 10 30 Z" fill="rgb(0,0,255)" stroke="none"/>`,
    ),
    'css.SVG': svg(
      `<style>\n.a { fill: green }\n</style>${WASTE}<circle class="a" r="9" cx="20" cy="20"/>`,
    ),
  };
  const batch = await runBatch(ARGUMENTS, files);
  for (const [name, before] of Object.entries(files)) {
    const after = batch.bytes(name);
    expect(batch.record(name).outputFilename, name).toMatch(/\.svg$/i);
    expect(after.length, name).toBeLessThan(before.length);
    expect(await difference(before, after, 256), name).toBeLessThanOrEqual(16);
    const [one, other] = await Promise.all([sharp(before).metadata(), sharp(after).metadata()]);
    expect([other.width, other.height], name).toEqual([one.width, one.height]);
    expect(batch.record(name).data).toMatchObject({
      chosen: { format: 'svg', size: after.length },
    });
  }
});

test('optimize of an SVG that cannot be smaller gives its bytes', async () => {
  const small = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path fill="red" d="M0 0h9v9H0z"/></svg>',
  );
  const batch = await runBatch(ARGUMENTS, { 'a.svg': small });
  expect(batch.bytes('a.svg').equals(small)).toBe(true);
  expect(batch.record('a.svg').data).toMatchObject({ chosen: { original: true } });
});

test('a minified SVG that would look different is replaced by a more cautious one', async () => {
  // svgo takes the points after an invalid one for valid.
  const invalid = svg(
    `${WASTE}<polygon points="5 5 40 5 40 30 x 5 30" fill="black"/>${WASTE.repeat(3)}`,
  );
  const one = await runOne(ARGUMENTS, invalid, 'a.svg');
  expect(one.bytes.length).toBeLessThan(invalid.length);
  expect(await difference(invalid, one.bytes, 240)).toBeLessThanOrEqual(16);
});

test('what other files and moments need stays: symbols, names of views, animations', async () => {
  const files = {
    'sprite.svg': svg(
      `${WASTE}<symbol id="home" viewBox="0 0 16 16"><path id="roof" d="M0 0 L10 10"/></symbol>`,
    ),
    'animated.svg': svg(
      `${WASTE}<rect width="30" height="20" opacity="0"><animate attributeName="opacity" to="1" dur="1s"/></rect>`,
    ),
    'accessible.svg': svg(
      `${WASTE}<title>A red square</title><desc>Its sides differ</desc>${SQUARE}`,
    ),
  };
  const batch = await runBatch(ARGUMENTS, files);
  const text = (name: string) => String(batch.bytes(name));
  expect(text('sprite.svg')).toMatch(/<symbol id="home".*id="roof"/);
  expect(text('animated.svg')).toMatch(/opacity="0"><animate attributeName="opacity"/);
  expect(text('accessible.svg')).toContain('<title>A red square</title><desc>Its sides differ');
  for (const name of Object.keys(files)) expect(text(name), name).not.toContain('by hand');
});

test('an SVG that cannot reach --target-size fails, and settings that it lacks are ignored', async () => {
  const files = { 'a.svg': svg(`${WASTE}${SQUARE}`) };
  const missed = await runBatch([...ARGUMENTS, '--target-size', '9B'], files);
  expect(missed.record('a.svg').error!.code).toBe('target_not_reached');
  expect(missed.code).toBe(1);
  const ignored = await runBatch([...ARGUMENTS, '--quality', '50'], files);
  expect(ignored.warnings('a.svg')).toEqual(['quality_ignored']);
});

test('--metadata copyright keeps the metadata of an SVG, and by default it is removed', async () => {
  const file = svg(`<metadata>CC BY 4.0</metadata>${WASTE}${SQUARE}`);
  const kept = await runOne([...ARGUMENTS, '--metadata', 'copyright'], file, 'a.svg');
  const removed = await runOne(ARGUMENTS, file, 'a.svg');
  expect(String(kept.bytes)).toContain('CC BY 4.0');
  expect(String(removed.bytes)).not.toContain('CC BY 4.0');
});

test('scripts are removed with a warning, and the encoding that a file declares is read', async () => {
  const files = {
    'script.svg': svg(
      `${SQUARE}<script>alert(1)</script><a href="javascript:alert(2)"><rect onclick="alert(3)" width="9" height="9"/></a>`,
    ),
    'latin.svg': Buffer.from(
      String(
        svg(`<title>caf\xe9</title>${SQUARE}`, {
          before: '<?xml version="1.0" encoding="ISO-8859-1"?>',
        }),
      ),
      'latin1',
    ),
  };
  const batch = await runBatch(ARGUMENTS, files);
  expect(batch.warnings('script.svg')).toEqual(['scripts_removed']);
  expect(String(batch.bytes('script.svg'))).not.toMatch(/alert|script/);
  expect(batch.warnings('latin.svg')).toEqual([]);
  expect(String(batch.bytes('latin.svg'))).toContain('<title>café</title>');
});

test('hostile SVG is refused with a code and a sentence, and reads no file', async () => {
  const secret = join(temporaryFolder(), 'secret');
  writeFileSync(secret, 'the secret');
  const entities = Array.from({ length: 9 }, (_, at) => {
    return `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`;
  });
  const doctype = (content: string) => ({ before: `<!DOCTYPE svg [${content}]>` });
  const files = {
    'laughs.svg': svg('<text>&e9;</text>', doctype(`<!ENTITY e0 "ha">${entities.join('')}`)),
    'deep.svg': svg(`${'<g>'.repeat(100_000)}${SQUARE}${'</g>'.repeat(100_000)}`),
    'long.svg': svg(`<path d="M0 0${'l1.5 2.5'.repeat(1_500_000)}"/>`),
    'broken.svg': svg(SQUARE).subarray(0, -9),
    'encoding.svg': Buffer.concat([svg('<text>'), Buffer.from([0xe9])]),
    'external.svg': svg('<text y="20">&x;</text>', doctype(`<!ENTITY x SYSTEM "${secret}">`)),
  };
  const batch = await runBatch(ARGUMENTS, files);
  for (const name of Object.keys(files)) {
    const { error } = batch.record(name);
    expect(error, name).toMatchObject({ code: 'corrupt_image' });
    expect(error!.message, name).toMatch(/^this SVG image is damaged/);
  }
  expect(JSON.stringify(batch.result)).not.toContain('the secret');
});

test('SVG needs --allow-svg; --format draws it, and --out names an SVG for SVG alone', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'a.svg'), svg(`${WASTE}${SQUARE}`));
  writeFileSync(join(cwd, 'a.png'), await sharp(svg(SQUARE)).png().toBuffer());
  const run = (text: string) => oriel(text.split(' '), { cwd });
  const refused = await run('optimize a.svg --out b.svg');
  expect(refused.code).toBe(1);
  expect(refused.stdout + refused.stderr).toContain('SVG images are not read without --allow-svg');
  expect(await run('optimize a.svg --out b.svg --allow-svg')).toMatchObject({ code: 0 });
  expect(String(readFileSync(join(cwd, 'b.svg')))).not.toContain('by hand');
  expect(await run('optimize a.svg --out b.png --allow-svg')).toMatchObject({ code: 0 });
  expect((await sharp(join(cwd, 'b.png')).metadata()).format).toBe('png');
  const other = await run('optimize a.png --out c.svg');
  expect(other.code).toBe(1);
  expect(other.stdout + other.stderr).toContain('SVG is written from SVG alone');
  const converted = await run('convert a.svg --out c.svg --allow-svg');
  expect(converted.code).toBe(2);
  expect(converted.stderr).toContain('--format: expected one of');
});
