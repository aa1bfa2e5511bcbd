import { type Attack, OVERLOAD_STATUSES, together } from './attack.ts';

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
      const body = bodies[index % bodies.length]!;
      await attacker.ask({ method: 'POST', path, key, headers, body }, [
        400,
        413,
        ...OVERLOAD_STATUSES,
      ]);
    });
  },
};
