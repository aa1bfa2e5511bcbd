import { textBody } from '../tenants/good-work.ts';
import { type Attack, OVERLOAD_STATUSES, together } from './attack.ts';

export const hostileUpstream: Attack = {
  name: 'hostile upstreams',
  summary: 'upstreams that respond with 24 MB of small objects, or an endless stream',
  async run(attacker) {
    await together(6, 3, async (index) => {
      const isEndless = index % 2 === 1;
      const prompt = isEndless ? 'torture:endless' : 'torture:hostile';
      const body = textBody('chat', 'to-responses', prompt, { stream: isEndless });
      const path = '/v1/chat/completions';
      // A stream that ends without any output has the status of its failure.
      const expected = isEndless ? [200, 504] : [502, 504];
      await attacker.ask({ method: 'POST', path, key: attacker.key, body }, [
        ...expected,
        ...OVERLOAD_STATUSES,
      ]);
    });
  },
};
