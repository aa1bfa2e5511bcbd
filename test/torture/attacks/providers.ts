import { endOf, eventsOf } from '../answer.ts';
import { jsonOf } from '../client.ts';
import { textBody } from '../tenants/good-work.ts';
import { type Attack, together } from './attack.ts';

const BEHAVIOURS = [
  'reset',
  'garbage',
  'status=429',
  'status=500',
  'status=599',
  'status=404',
  'status=401',
  'hang',
  'slow',
];

export const badUpstreams: Attack = {
  name: 'failing upstreams',
  summary:
    'upstreams that reset, hang, are slow, send pages, and answer 401, 404, 429, 500 and 599',
  async run(attacker) {
    await together(BEHAVIOURS.length * 2, 9, async (index) => {
      const stream = index % 2 === 1;
      const path = '/v1/chat/completions';
      const prompt = `torture:${BEHAVIOURS[index >> 1]}`;
      const model = attacker.random.pick(['to-chat', 'to-responses', 'to-messages']);
      const body = textBody('chat', model, prompt, { stream });
      const answer = await attacker.post(path, body);
      if (!stream || answer?.status !== 200) return;
      const events = eventsOf(answer.body.toString());
      attacker.expect(
        events !== null && endOf(path, events) !== 'none',
        `${prompt}: a stream without an end`,
      );
    });
  },
};

export const hostileUpstream: Attack = {
  name: 'hostile upstreams',
  summary: 'upstreams that respond with 24 MB of small objects, or an endless stream',
  async run(attacker) {
    await together(6, 3, async (index) => {
      const isEndless = index % 2 === 1;
      const prompt = isEndless ? 'torture:endless' : 'torture:hostile';
      const body = textBody('chat', 'to-responses', prompt, { stream: isEndless });
      // A stream that ends without any output has the status of its failure.
      const expected = isEndless ? [200, 504] : [502, 504];
      await attacker.post('/v1/chat/completions', body, expected);
    });
  },
};

/** Upper bound of the cost in credits: 100 tokens of output, and the input tokens. */
const MOST = 100 * 0.01 + 1000 * 0.001;

export const overcharge: Attack = {
  name: 'a bill beyond what was asked',
  summary: 'an upstream that reports five million output tokens for a limit of 100',
  async run(attacker) {
    const key = attacker.context.freeKey;
    const spent = async () => {
      const answer = await attacker.ask({ path: '/v1/account', key });
      const account = (answer && jsonOf(answer)) as { credits?: { spent: number } } | null;
      return account?.credits?.spent;
    };
    const before = await spent();
    const body = { ...textBody('chat', 'to-chat', 'torture:overcharge'), max_tokens: 100 };
    await attacker.post('/v1/chat/completions', body, undefined, { key });
    const after = await spent();
    if (before === undefined || after === undefined) return;
    attacker.expect(
      after - before <= MOST,
      `${after - before} credits were charged, at most ${MOST} are right`,
    );
  },
};

/** Fields that use the operator's account at the provider, or cost more than is metered. */
const FIELDS = {
  '/v1/responses': { background: true, conversation: 'conv_1', service_tier: 'priority' },
  '/v1/chat/completions': { service_tier: 'priority', api_base: 'http://127.0.0.1/' },
  '/v1/messages': {
    mcp_servers: [{ type: 'url', url: 'http://127.0.0.1/', name: 'x' }],
    speed: 'fast',
  },
} as const;

export const operatorsMoney: Attack = {
  name: "the operator's money",
  summary: 'unmetered fields of providers, and identifiers of stored objects of others',
  async run(attacker) {
    for (const [path, fields] of Object.entries(FIELDS)) {
      for (const [field, value] of Object.entries(fields)) {
        const dialect = path.split('/')[2]!.replace(/.*completions|chat/, 'chat');
        const prompt = 'torture:report';
        const body = {
          model: `to-${dialect}`,
          ...(dialect === 'responses'
            ? { input: prompt }
            : { messages: [{ role: 'user', content: prompt }] }),
          ...(dialect === 'messages' && { max_tokens: 50 }),
          [field]: value,
        };
        const answer = await attacker.post(path, body);
        const passed = answer?.body.includes(`passed:${field}`);
        attacker.expect(passed !== true, `${path}: the provider was sent ${field}`);
      }
    }
  },
};
