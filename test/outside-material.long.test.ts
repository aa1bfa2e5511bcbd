import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'tinyglobby';
import { expect, it } from 'vitest';
import { ROOT, startProgram } from './oriel.ts';
import { copyOfRepository } from './readme.ts';

const sources = globSync(['test/**/*.{ts,tsx,mjs}', 'src/**/*.{ts,tsx}', 'workers/*.ts'], {
  cwd: ROOT,
}).map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

it('is named by ORIEL_SHARED alone, which two files read', () => {
  const readers = sources.filter(({ text }) => /env\['ORIEL_SHARED'\]/.test(text));
  expect(readers.map(({ path }) => path).toSorted()).toEqual([
    'test/bench/images/quality-suite.ts',
    'test/outside-material.ts',
  ]);
  const beside = sources.filter(({ text }) => /(?:ROOT|project), '\.\.'|\.\.\/shared\//.test(text));
  expect(beside.map(({ path }) => path)).toEqual([]);
});

it('is not needed to collect the tests of a clone in an empty folder', async () => {
  const users = sources
    .filter(({ text }) => /from '[./]+\/(outside-material|documents)\.ts'/.test(text))
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.test.ts'));
  const folder = await copyOfRepository();
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const { ended } = startProgram(process.execPath, [vitest, 'list', ...users], {
    cwd: folder,
    env: { ORIEL_SHARED: undefined, VITEST: undefined, NODE_ENV: undefined },
  });
  const { status, out, stderr } = await ended;
  expect(status, stderr + out).toBe(0);
  expect(out).toContain('test/console/chat/decoders.test.ts');
});
