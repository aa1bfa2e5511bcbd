import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { photo, quadrants } from '../../fixtures/images.ts';
import { temporaryFolder } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { ownServer, sharedServer } from '../test-server.ts';
import { bodyOf, entriesOf, fieldPart, filePart, manifestOf, send, usageOf } from './form.ts';

const command = residentCommand();

const RECIPE = `
vars: { quality: 60 }
steps:
  - resize: { width: 100 }
outputs:
  - { formats: [webp, jpeg], widths: [80, 40], quality: "\${quality}" }
  - { name: "{name}-grey.{ext}", format: png, steps: [greyscale], when: { format: jpeg } }
`;

const server = sharedServer();
let files: Record<string, Buffer>;
beforeAll(async () => {
  files = {
    'b.jpg': await photo({ width: 300, height: 200 }).jpeg().toBuffer(),
    'a.png': await quadrants({ width: 64, height: 64 }).png().toBuffer(),
    'broken.png': Buffer.from('no image'),
  };
});

const form = (fields: Readonly<Record<string, string>>) =>
  bodyOf([
    ...Object.entries(fields).map(([name, value]) => fieldPart(name, value)),
    ...Object.entries(files).map(([name, bytes]) => filePart(name, bytes)),
  ]);

test('a recipe may be sent as a file, of limited size', async () => {
  const asFile = (recipe: string) =>
    bodyOf([
      filePart('recipe.yaml', Buffer.from(recipe), 'recipe'),
      ...Object.entries(files).map(([name, bytes]) => filePart(name, bytes)),
    ]);
  const sent = await send(server(), 'batch-run', asFile(RECIPE));
  expect(sent.status).toBe(200);
  expect(Object.keys(entriesOf(sent.bytes))).toContain('b-grey.png');
  const large = await send(server(), 'batch-run', asFile(`${RECIPE}# ${'x'.repeat(1_000_000)}`));
  expect([large.status, String(large.bytes)]).toEqual([400, expect.stringContaining('recipe: ')]);
});

test('a form with several wrong fields names all of them', async () => {
  const { status, bytes } = await send(
    server(),
    'batch-convert-images',
    form({ format: 'doc', colour: 'red', quality: 'much', sise: '5' }),
  );
  const { error } = JSON.parse(String(bytes));
  expect([status, error.param]).toEqual([400, 'format']);
  expect(error.message).toMatch(/^format: expected .*; quality: expected /);
  expect(error.message).toMatch(/; colour, sise: unknown; expected one of /);
});

test('a recipe gives the ZIP of the command, with all outputs', async () => {
  const { status, bytes } = await send(server(), 'batch-run', form({ recipe: RECIPE }));
  expect(status).toBe(200);
  const http = entriesOf(bytes);

  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'recipe.yaml'), RECIPE);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  await command(['run', 'recipe.yaml', ...Object.keys(files), '--zip', 'out.zip'], { cwd });
  const cli = entriesOf(readFileSync(join(cwd, 'out.zip')));

  const { requestId: _, ...mine } = manifestOf(http);
  const { requestId: __, ...theirs } = manifestOf(cli);
  expect(mine).toEqual(theirs);
  expect(mine.summary).toMatchObject({ total: 3, succeeded: 2, failed: 1 });
  const names = Object.keys(http).filter((name) => name !== 'manifest.json');
  expect(names).toEqual([
    ...['b-80w.webp', 'b-80w.jpg', 'b-40w.webp', 'b-40w.jpg', 'b-grey.png'],
    ...['a-64w.webp', 'a-64w.jpg', 'a-40w.webp', 'a-40w.jpg'],
  ]);
  for (const name of names) expect(http[name]!.equals(cli[name]!), name).toBe(true);
  expect(mine.results[0]!.outputs!.map(({ outputFilename }) => outputFilename)).toEqual(
    names.slice(0, 5),
  );
});

test('variables are lines of the field set, and a preset is named', async () => {
  const set = await send(server(), 'batch-run', form({ recipe: RECIPE, set: 'quality=5\n' }));
  const plain = await send(server(), 'batch-run', form({ recipe: RECIPE }));
  const bytesOf = ({ bytes }: typeof set) => entriesOf(bytes)['b-80w.jpg']!.length;
  expect(bytesOf(set)).toBeLessThan(bytesOf(plain));
  const preset = await send(server(), 'batch-run', form({ recipe: 'thumbnails', set: 'size=20' }));
  expect(manifestOf(entriesOf(preset.bytes)).results[0]!.outputs).toMatchObject([{ width: 20 }]);
});

test.each([
  [{}, 'recipe', /^recipe is required: a recipe or the name of a preset$/],
  [{ recipe: 'steps: [blurr]' }, 'recipe', /^recipe:1: steps\[0\]\.blurr: unknown; did you mean/],
  [{ recipe: 'a: [' }, 'recipe', /^recipe:1: column/],
  [{ recipe: `steps: ${'['.repeat(9000)}` }, 'recipe', /nested too deeply/],
  [{ recipe: `#${'x'.repeat(70_000)}` }, 'recipe', /larger than 32 KB/],
  [{ recipe: `#${'x'.repeat(300_000)}` }, 'recipe', /at most 262144 bytes/],
  [{ recipe: RECIPE, set: 'qality=5' }, 'set', /did you mean quality/],
  [{ recipe: 'steps: [{ crop: { ratio: "${PATH}" } }]' }, 'recipe', /PATH is not declared in vars/],
  [{ recipe: 'nosuchpreset' }, 'recipe', /^recipe:1: .* or one of web, /],
])('a form %# with a fault gets 400 that names %s', async (fields, param, message) => {
  const { status, json } = await send(
    server(),
    'batch-run',
    form(fields as Record<string, string>),
  );
  expect(status).toBe(400);
  expect(json.error).toMatchObject({ type: 'invalid_request', param });
  expect(json.error?.message).toMatch(message);
});

test('a thread parses each recipe, also a faulty one, and not the event loop', async () => {
  const parsed = () => server().textThreads.statistics().finished.get('read-recipe')?.jobs ?? 0;
  const before = parsed();
  await send(server(), 'batch-run', form({ recipe: RECIPE }));
  await send(server(), 'batch-run', form({ recipe: ',[,'.repeat(1000) }));
  expect(parsed()).toBe(before + 2);
});

test('usage counts each output', async () => {
  const own = await ownServer();
  await send(own, 'batch-run', form({ recipe: RECIPE }));
  expect(await usageOf(own)).toMatchObject([
    { model: 'batch-run', requests: 1, outputs: 9, credits: 0 },
  ]);
});
