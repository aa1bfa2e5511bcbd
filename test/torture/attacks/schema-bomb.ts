import type { Attack } from './attack.ts';

/** Milliseconds that the daemon may take for anything that one request asks. */
const BOUND = 10_000;

export const schemaBomb: Attack = {
  name: 'schema bomb',
  summary: 'a JSON schema of 1.4 MB with uniqueItems over nearly equal objects, for the sandbox',
  async run(attacker) {
    const item = (index: number) => ({ type: 'object', enum: [{ ['k'.repeat(500)]: index }] });
    const schema = {
      type: 'object',
      required: ['list'],
      properties: {
        list: {
          type: 'array',
          uniqueItems: true,
          minItems: 2500,
          prefixItems: Array.from({ length: 2500 }, (_, index) => item(index % 2)),
        },
      },
    };
    const body = {
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: 'fill the schema' }],
      max_tokens: 100,
      response_format: { type: 'json_schema', json_schema: { name: 'bomb', schema } },
    };
    const started = performance.now();
    await attacker.ask({ method: 'POST', path: '/v1/chat/completions', key: attacker.key, body });
    const elapsed = Math.round(performance.now() - started);
    attacker.expect(elapsed < BOUND, `answered after ${elapsed} ms`);
  },
};
