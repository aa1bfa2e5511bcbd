import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './oriel.ts';

// The size of the house. Growth is a decision: who raises a figure here says why in the commit.

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

function filesBelow(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mjs|css)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/\/\.(modules|out)\//.test(path))
    .map((path) => ({ path: path.slice(ROOT.length), text: readFileSync(path, 'utf8') }));
}

/** Lines that are neither blank nor comment. */
function codeLines(text: string): number {
  let lines = 0;
  let isComment = false;
  for (const line of text.split('\n').map((one) => one.trim())) {
    const begins = line.startsWith('/*');
    if (!isComment && !begins && line !== '' && !line.startsWith('//')) lines += 1;
    isComment = (isComment || begins) && !line.endsWith('*/');
  }
  return lines;
}

test.each([
  ['', 0],
  ['// one\n\nconst a = 1;', 1],
  ['/** one */\nconst a = 1;\n/**\n * two\n */\nconst b = 2;', 2],
])('code lines of %j: %i', (text, lines) => {
  expect(codeLines(text)).toBe(lines);
});

const source = filesBelow('src');
const lengthOf = ({ text }: SourceFile) => text.split('\n').length - 1;

test('src and test stay within their sizes', () => {
  const sum = (files: readonly SourceFile[]) =>
    files.reduce((lines, { text }) => lines + codeLines(text), 0);
  expect(sum(source)).toBeLessThanOrEqual(111_000);
  expect(sum(filesBelow('test'))).toBeLessThanOrEqual(104_100);
});

test('few files are very short or very long', () => {
  expect(source.filter((file) => lengthOf(file) <= 30).length).toBeLessThanOrEqual(60);
  expect(source.filter((file) => lengthOf(file) > 300).length).toBeLessThanOrEqual(9);
});

test('comments name no document that the repository does not hold', () => {
  const named = [...source, ...filesBelow('test')]
    .filter(
      ({ path, text }) =>
        !path.endsWith('house-figures.test.ts') && /interface,? parts? \d/.test(text),
    )
    .map(({ path }) => path);
  expect(named).toEqual([]);
});
