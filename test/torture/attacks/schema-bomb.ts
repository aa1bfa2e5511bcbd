import type { Attack } from './attack.ts';

/** Milliseconds that the daemon may take for one request. */
const BOUND = 10_000;

export const schemaBomb: Attack = {
  name: 'schema bomb',
  summary: 'a JSON schema of 1.4 MB with uniqueItems over nearly equal objects, for the sandbox',
  async run(attacker) {
    const list = Array.from({ length: 6000 }, (_, index) => ({
      ...Object.fromEntries(Array.from({ length: 20 }, (__, field) => [`field${field}`, 1])),
      last: index,
    }));
    const schema = {
      type: 'object',
      required: ['list'],
      properties: { list: { type: 'array', uniqueItems: true, default: list } },
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
