import { describe, expect, it } from 'vitest';
import { sharedDaemon } from '../../daemon.ts';
import { plainBody, send } from '../raw.ts';

const daemon = sharedDaemon();

/** Objects that differ only in their last property: comparing each two takes 76 s. */
const NEARLY_EQUAL = Array.from({ length: 3500 }, (_, index) => ({
  ...Object.fromEntries(Array.from({ length: 30 }, (__, key) => [`k${key}`, 1])),
  last: index,
}));

describe('a schema that exceeds the step budget of the sandbox', () => {
  it.each([
    [
      'response_format of chat',
      'chat',
      (schema: object) => ({
        response_format: { type: 'json_schema', json_schema: { name: 'list', schema } },
      }),
    ],
    [
      'text.format of responses',
      'responses',
      (schema: object) => ({ text: { format: { type: 'json_schema', name: 'list', schema } } }),
    ],
    [
      'a tool of messages',
      'messages',
      (schema: object) => ({
        tools: [
          {
            name: 'f',
            input_schema: { type: 'object', required: ['a'], properties: { a: schema } },
          },
        ],
        tool_choice: { type: 'any' },
      }),
    ],
  ] as const)('gets 400 in %s', async (_, dialect, fields) => {
    const schema = { type: 'array', uniqueItems: true, const: NEARLY_EQUAL };
    const body = plainBody(dialect, 'sandbox-chat', fields(schema));
    const response = await send(daemon(), dialect, body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('too large for the sandbox');
  });
});
