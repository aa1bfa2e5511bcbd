import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { checkAll, formatPath } from '../../src/schema/faults.ts';

const schema = v.looseObject({
  content: v.pipe(
    v.union([
      v.string(),
      v.array(
        v.variant('type', [
          v.looseObject({ type: v.literal('text'), text: v.string() }),
          v.looseObject({ type: v.pipe(v.string(), v.regex(/^(?!text$)/)) }),
        ]),
      ),
    ]),
    v.metadata({ expects: 'a text or a list of blocks' }),
  ),
});

function faults(value: unknown): string[] {
  const checked = checkAll(schema, value);
  return 'output' in checked
    ? []
    : checked.faults.map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

describe('a text or a list of blocks, in an open object', () => {
  it.each([
    { content: 'text' },
    { content: [] },
    { content: [{ type: 'text', text: 'a', more: 1 }, { type: 'other' }], more: {} },
  ])('takes %j', (value) => {
    expect(faults(value)).toEqual([]);
  });

  it.each([
    [{}, 'content: expected a text or a list of blocks, received nothing'],
    [{ content: 5 }, 'content: expected a text or a list of blocks, received 5'],
    [{ content: {} }, 'content: expected a text or a list of blocks, received an object'],
    [{ content: ['a'] }, 'content[0]: expected an object, received a text'],
    [{ content: [[]] }, 'content[0].type: expected one of text, received nothing'],
    [{ content: [{ type: 'text' }] }, 'content[0].text: expected a text, received nothing'],
    [{ content: [{ type: 5 }] }, 'content[0].type: expected one of text, received 5'],
  ])('says what is wrong with %j', (value, fault) => {
    expect(faults(value)).toContain(fault);
  });
});
