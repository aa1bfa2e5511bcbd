import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'tinyglobby';
import { expect, it } from 'vitest';
import { ROOT } from './oriel.ts';

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
