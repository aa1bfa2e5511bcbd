import type { Attack } from './attack.ts';

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
        const answer = await attacker.ask({ method: 'POST', path, key: attacker.key, body });
        const passed = answer?.body.includes(`passed:${field}`);
        attacker.expect(passed !== true, `${path}: the provider was sent ${field}`);
      }
    }
  },
};
