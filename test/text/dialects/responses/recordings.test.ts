import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import { outsideFolder } from '../../../outside-material.ts';
import {
  blocksOf,
  contextOf,
  decode,
  decodeWhole,
  encode,
  eventsIn,
  failureOf,
  finishOf,
} from './events.ts';

const { isPresent, files, read } = outsideFolder('recordings/openai-responses');

const objects = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);
const texts = (parts: unknown, name = 'text') =>
  objects(parts).map((part) => String(part[name] ?? ''));

/** The blocks of an answer, read without code under test. */
function expected(response: Json): [string, string][] {
  return objects(response['output']).flatMap((item): [string, string][] => {
    switch (item['type']) {
      case 'message':
        return objects(item['content']).map((part) => ['text', String(part['text'])]);
      case 'reasoning': {
        const summary = texts(item['summary']);
        return [
          ['reasoning', (summary.length > 0 ? summary : texts(item['content'])).join('\n\n')],
        ];
      }
      case 'function_call': {
        const caller = item['caller'] as Json | undefined;
        if (caller && caller['type'] !== 'direct') {
          return [['native', 'function_call']];
        }
        return [[`tool ${item['call_id']} ${item['name']}`, String(item['arguments'])]];
      }
      case 'custom_tool_call':
        return [[`tool ${item['call_id']} ${item['name']}`, String(item['input'])]];
      default:
        return [['native', String(item['type'])]];
    }
  });
}

function expectUsage(response: Json, usage: unknown) {
  const reported = response['usage'] as Record<string, Json> | null;
  expect(usage).toEqual(
    reported
      ? {
          input: reported['input_tokens'],
          output: reported['output_tokens'],
          cachedInput: reported['input_tokens_details']?.['cached_tokens'] ?? 0,
          cacheWrite: reported['input_tokens_details']?.['cache_write_tokens'] ?? 0,
          reasoning: reported['output_tokens_details']?.['reasoning_tokens'] ?? null,
        }
      : null,
  );
}

function expectAnswer(stream: readonly Json[]) {
  const last = stream.at(-1)!;
  const events = decode(stream);
  if (last['type'] === 'response.failed') {
    expect(failureOf(events).type).toBeTypeOf('string');
    return;
  }
  const final = last['response'] as Json;
  const done = stream.filter(({ type }) => type === 'response.output_item.done');
  const whole = objects(final['output']).length > 0;
  const output = whole ? final['output'] : done.map((event) => event['item']);
  expect(blocksOf(events)).toEqual(expected({ output }));
  expectUsage(final, finishOf(events).usage);

  // Encoded and decoded once more.
  const repeated = decode(eventsIn(encode(events, contextOf())));
  expect(blocksOf(repeated)).toEqual(blocksOf(events));
  expect(finishOf(repeated)).toEqual({ ...finishOf(events), raw: expect.any(String) });
}

describe.skipIf(!isPresent)('recorded answers (in the folder ORIEL_SHARED)', () => {
  test.each(files.filter((file) => file.endsWith('.json')))('%s', (file) => {
    const body = JSON.parse(read(file)) as Json;
    const events = decodeWhole(body);
    if (!body['output']) {
      expect(failureOf(events).type).toBeTypeOf('string');
      return;
    }
    expect(blocksOf(events)).toEqual(expected(body));
    expectUsage(body, finishOf(events).usage);
  });

  test.each(files.filter((file) => file.endsWith('.chunks.txt')))('%s', (file) => {
    const lines = read(file)
      .split('\n')
      .filter(Boolean)
      // One recording lacks the last brace of two lines.
      .map((line) => (isJson(line) ? line : `${line}}`));
    // One recording has the answers of a whole conversation.
    const answers: Json[][] = [];
    for (const event of lines.map((line) => JSON.parse(line) as Json)) {
      if (event['type'] === 'response.created') answers.push([]);
      answers.at(-1)!.push(event);
    }
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers) expectAnswer(answer);
  });
});

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
