import { endOf, eventsOf } from '../answer.ts';
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
      const answer = await attacker.ask({ method: 'POST', path, key: attacker.key, body });
      if (!stream || answer?.status !== 200) return;
      const events = eventsOf(answer.body.toString());
      attacker.expect(
        events !== null && endOf(path, events) !== 'none',
        `${prompt}: a stream without an end`,
      );
    });
  },
};
