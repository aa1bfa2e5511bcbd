import { BOUNDARY } from '../client.ts';
import { textBody } from '../tenants/good-work.ts';
import { type Attack, together } from './attack.ts';

const PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n`;

const BODIES: readonly string[] = [
  '',
  '\r\n',
  PART,
  `${PART}abc`,
  `${PART}abc\r\n--${BOUNDARY}`,
  `--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\n\r\nno name\r\n--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nX: ${'y'.repeat(200_000)}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${'n'.repeat(50_000)}"\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
  `${`--${BOUNDARY}\r\nContent-Disposition: form-data; name="format"\r\n\r\nwebp\r\n`.repeat(20_000)}--${BOUNDARY}--\r\n`,
  `${`${PART}\r\n`.repeat(3000)}--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="format"\r\n\r\n${'w'.repeat(3_000_000)}\r\n--${BOUNDARY}--\r\n`,
];

const PATHS = ['/api/free/batch-convert-images', '/v1/images/upload', '/v1/images/edits'];

export const brokenForms: Attack = {
  name: 'broken forms',
  summary: 'multipart forms without an end, with 20,000 fields, 3,000 files, or endless headers',
  async run(attacker) {
    for (const path of PATHS) {
      for (const body of BODIES) {
        const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
        await attacker.post(path, body, [400, 413], { headers });
      }
      const headers = { 'content-type': 'multipart/form-data' };
      await attacker.post(path, 'x', [400, 415], { headers });
    }
  },
};

const MEGABYTES = 9.9;

function nested(): string {
  const depth = Math.floor((MEGABYTES * 1024 * 1024 - 100) / 2);
  return `{"model":"to-chat","messages":${'['.repeat(depth)}${']'.repeat(depth)}}`;
}

function lists(): string {
  const count = Math.floor((MEGABYTES * 1024 * 1024 - 100) / 3);
  return `{"model":"to-chat","messages":[${'[],'.repeat(count)}1]}`;
}

function keys(): string {
  const fields = Array.from({ length: 700_000 }, (_, index) => `"k${index}":1`);
  return `{"model":"to-chat",${fields.join()},"messages":[]}`;
}

function items(): string {
  const item = '{"role":"user","content":""},';
  return `{"model":"to-responses","input":[${item.repeat(340_000)}{"role":"user","content":"x"}]}`;
}

export const deepBodies: Attack = {
  name: 'deep and wide bodies',
  summary: 'bodies of 9.9 MB of nested lists, of empty lists, of 700,000 keys, of 340,000 items',
  async run(attacker) {
    const bodies = [nested(), lists(), keys(), items()];
    await together(12, 6, async (index) => {
      const path = index % 4 === 3 ? '/v1/responses' : '/v1/chat/completions';
      const headers = { 'content-type': 'application/json' };
      const key = index % 2 === 0 ? attacker.key : attacker.context.freeKey;
      await attacker.post(path, bodies[index % bodies.length]!, [400, 413], { headers, key });
    });
  },
};

const HANGING = 24;

export const hangingBodies: Attack = {
  name: 'large bodies at a hanging upstream',
  summary: `${HANGING} bodies of 8 MB for an upstream that never answers`,
  async run(attacker) {
    const filler = 'all work and no play '.repeat(390_000);
    const body = textBody('chat', 'to-chat', `torture:hang ${filler}`);
    const [key = ''] = attacker.context.keys;
    let refused = 0;
    await together(HANGING, HANGING, async () => {
      const answer = await attacker.post('/v1/chat/completions', body, [402, 502, 504], { key });
      if (answer?.status === 429 || answer?.status === 503) refused += 1;
    });
    attacker.expect(refused > 0, `one account had ${HANGING} bodies of 8 MB in memory`);
  },
};

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
    await attacker.post('/v1/chat/completions', body);
    const elapsed = Math.round(performance.now() - started);
    attacker.expect(elapsed < BOUND, `answered after ${elapsed} ms`);
  },
};
