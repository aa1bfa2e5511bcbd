import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/failure.ts';
import { checkedBody } from '../../src/schema/body.ts';
import {
  choiceBy,
  openChoiceBy,
  openObject,
  textOrList,
  wordOrObject,
} from '../../src/schema/choice.ts';
import { integer } from '../../src/schema/fields.ts';

const text = openObject({ type: v.literal('text'), text: v.string() });
const other = openObject({ type: v.string() });

const schema = openObject({
  content: textOrList('a text or a list of blocks', v.array(openChoiceBy('type', { text }, other))),
  role: v.nullish(choiceBy('type', { text, alias: text })),
  choice: v.nullish(wordOrObject(['auto', 'none'], other)),
  stops: v.nullish(v.pipe(v.array(v.string()), v.maxLength(2), v.metadata({ expects: 'two' }))),
  limit: v.nullish(integer(1)),
});

function refused(value: unknown): Failure {
  try {
    checkedBody(schema, value);
  } catch (error) {
    return error as Failure;
  }
  throw new Error('the body was accepted');
}

describe('checkedBody', () => {
  it.each([
    { content: 'text' },
    { content: [], role: null, choice: null, limit: null },
    { content: [{ type: 'text', text: 'a', more: 1 }, { type: 'other' }], more: {} },
    { content: '', choice: 'auto', role: { type: 'text', text: '' }, limit: 1, stops: ['', ''] },
    JSON.parse('{"content": "a", "__proto__": {"content": 5}}'),
  ])('returns the valid body %j itself', (body) => {
    const before = JSON.stringify(body);
    expect(checkedBody(schema, body)).toBe(body);
    expect(JSON.stringify(body)).toBe(before);
  });

  it.each<[body: unknown, param: string | null, message: string]>([
    [undefined, null, 'the body is required: an object'],
    [null, null, 'the body: expected an object, received null'],
    [[], null, 'the body: expected an object, received a list'],
    ['secret', null, 'the body: expected an object, received a text'],
    [{}, 'content', 'content is required: a text or a list of blocks'],
    [{ content: 5 }, 'content', 'content: expected a text or a list of blocks, received 5'],
    [
      { content: {} },
      'content',
      'content: expected a text or a list of blocks, received an object',
    ],
    [{ content: ['a'] }, 'content[0]', 'content[0]: expected an object, received a text'],
    [{ content: [[]] }, 'content[0]', 'content[0]: expected an object, received a list'],
    [{ content: [{}] }, 'content[0].type', 'content[0].type is required: a text'],
    [
      { content: [{ type: 'other' }, { type: 'text' }] },
      'content[1].text',
      'content[1].text is required: a text',
    ],
    [{ content: '', role: { type: 'text' } }, 'role.text', 'role.text is required: a text'],
    [
      { content: '', role: { type: 'toString' } },
      'role.type',
      'role.type: expected one of text, alias, received "toString"',
    ],
    [{ content: '', role: 'text' }, 'role', 'role: expected an object, received a text'],
    [
      { content: '', choice: 'all' },
      'choice',
      'choice: expected one of auto, none, received "all"',
    ],
    [
      { content: '', choice: 5 },
      'choice',
      'choice: expected one of auto, none, or an object with a type, received 5',
    ],
    [{ content: '', stops: ['', '', ''] }, 'stops', 'stops: expected two, received a list'],
    [{ content: '', stops: ['', 7] }, 'stops[1]', 'stops[1]: expected a text, received 7'],
    [{ content: '', limit: 0 }, 'limit', 'limit: expected an integer of at least 1, received 0'],
    [
      JSON.parse('{"__proto__": {"content": "a"}}'),
      'content',
      'content is required: a text or a list of blocks',
    ],
  ])('rejects %j with the path of the invalid field', (body, param, message) => {
    expect(refused(body)).toMatchObject({ type: 'invalid_request', param, message });
  });

  it('quotes long values in part', () => {
    const { message } = refused({ content: '', choice: 'a'.repeat(1000) });
    expect(message.length).toBeLessThan(120);
  });
});
