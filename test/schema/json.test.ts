import { expect, it } from 'vitest';
import { structureFault } from '../../src/schema/json.ts';

const many = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join();
const codeOf = (text: string) => structureFault(text)?.code ?? null;

it.each([
  ['200,000 numbers', `[${many(200_000, String)}]`],
  ['20,000 turns', `{"messages": [${many(20_000, () => '{"role": "user", "content": "a"}')}]}`],
  ['10,000 names', `{${many(10_000, (index) => `"name ${index}" : 1`)}}`],
  ['a megabyte of quotes', `{"text": "${'\\"'.repeat(500_000)}"}`],
  ['a text of commas', `{"content": "${','.repeat(500_000)}"}`],
  ['code as arguments', `{"arguments": "{\\"code\\": \\"${'f(a, b);\\\\n'.repeat(50_000)}\\"}"}`],
])('accepts %s', (_, text) => {
  JSON.parse(text);
  expect(codeOf(text)).toBeNull();
});

it.each([
  ['150,000 empty lists', `[${many(150_000, () => '[]')}]`],
  ['150,000 texts', `[${many(150_000, (index) => `"${index}"`)}]`],
  ['30,000 names of one object', `{${many(30_000, (index) => `"${index}": 1`)}}`],
  ['30,000 names of many objects', `[${many(30_000, (index) => `{"${index}" \n: 1}`)}]`],
  ['arguments of many values', `{"arguments": "[${'1,'.repeat(300_000)}1]"}`],
  ['arguments of many names', `{"arguments": "{${many(100_000, () => '\\"a\\":1')}}"}`],
  ['arguments by another spelling', `{"\\u0061rguments": "[${'1,'.repeat(300_000)}1]"}`],
])('refuses %s', (_, text) => {
  JSON.parse(text);
  expect(codeOf(text)).toBe('too_many_values');
});

it('names the member that has too many values', () => {
  const text = `{"a": "\\"", "b \\"": [${many(150_000, () => '[]')}], "c": 1}`;
  expect(structureFault(text)).toMatchObject({ member: 'b "' });
});
