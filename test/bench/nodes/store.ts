import type { Bench, Trial } from '../cases.ts';
import { fixed, goalOf, spread } from '../daemon/trial.ts';
import { median, quantile } from '../race.ts';
import type { StoreFigures } from '../store/contenders/work.ts';
import type { QueueFigures } from './contenders/queue.ts';
import { emptyFolder, engineOf, figuresOf } from './field.ts';
import type { Postgres } from './postgres.ts';

export const CREATE = {
  title: 'create: durable creations, 64 in flight',
  goal: 'rate ≥ 0.60 × the raw gathered transaction',
};

export async function create(bench: Bench, server: Postgres): Promise<Trial> {
  const { settings, log } = bench;
  const count = settings.quick ? 5000 : 50_000;
  const own: number[] = [];
  const limit: number[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const raw = await figuresOf<StoreFigures>(bench, 'contenders/raw', [server.url, `${count}`]);
    limit.push(count / raw.seconds);
    const { driver } = engineOf(server, `create_${round}`);
    const folder = emptyFolder(bench, 'node');
    const args = [driver, 'create', folder, `${count}`];
    const { seconds } = await figuresOf<StoreFigures>(bench, '../store/contenders/store', args);
    own.push(count / seconds);
    log(`  limit ${fixed(limit.at(-1), 0)}, oriel ${fixed(own.at(-1), 0)} a second`);
  }
  const ratios = own.map((rate, round) => rate / limit[round]!);
  return {
    section: {
      title: CREATE.title,
      text:
        `${count} tasks of one account with their reservations, fsync and synchronous_commit on; the limit gathers, ` +
        'locks, reads and writes the same rows without rules.',
      table: {
        headings: ['contender', 'per second', '÷ limit'],
        rows: [
          ['limit', fixed(median(limit), 0), ''],
          ['oriel', fixed(median(own), 0), spread(ratios)],
        ],
      },
    },
    goals: [goalOf('create', CREATE.goal, ratios, 0.6, 'higher')],
    faults: [],
    raw: { limit, own },
  };
}

export const CLAIMS = { title: 'claims: tasks claimed and ended', goal: '' };

export async function claims(bench: Bench, server: Postgres): Promise<Trial> {
  const { settings, log } = bench;
  const count = settings.quick ? 2000 : 20_000;
  const rates: number[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const { driver } = engineOf(server, `claims_${round}`);
    const args = [driver, 'claims', emptyFolder(bench, 'node'), `${count}`];
    const { seconds } = await figuresOf<QueueFigures>(bench, 'contenders/queue', args);
    rates.push(count / seconds);
    log(`  ${fixed(rates.at(-1), 0)} a second`);
  }
  return {
    section: {
      title: CLAIMS.title,
      text: `${count} tasks of 20 accounts, by four claims at once of 16 tasks each, with charge and result.`,
      table: { headings: ['contender', 'per second'], rows: [['oriel', spread(rates, 0)]] },
    },
    goals: [],
    faults: [],
    raw: { count, rates },
  };
}

export const WAKE = { title: 'wake: hints between two nodes', goal: 'milliseconds, p99 ≤ 50' };

export async function wake(bench: Bench, server: Postgres): Promise<Trial> {
  const { settings, log } = bench;
  const count = settings.quick ? 200 : 1000;
  const rounds: QueueFigures[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const { driver } = engineOf(server, `wake_${round}`);
    const folder = emptyFolder(bench, `node-${round}`);
    const args = [driver, 'wake', folder, `${count}`];
    rounds.push(await figuresOf<QueueFigures>(bench, 'contenders/queue', args));
    log(`  ${fixed(quantile(rounds.at(-1)!.created, 0.99))} ms, 99 of 100`);
  }
  const of = (name: 'created' | 'ended', share: number) =>
    rounds.map((round) => quantile(round[name], share)!);
  const row = (name: 'created' | 'ended', said: string) => {
    return [said, spread(of(name, 0.5)), spread(of(name, 0.99))];
  };
  return {
    section: {
      title: WAKE.title,
      text: `${count} tasks, one after the other, created by one node and ended by another.`,
      table: {
        headings: ['milliseconds', 'median', '99 of 100'],
        rows: [
          row('created', 'from the creation until the other node knows, commit included'),
          row('ended', 'from the end until its creator knows, commit included'),
        ],
      },
    },
    goals: [
      goalOf('wake', `creation: ${WAKE.goal}`, of('created', 0.99), 50, 'lower'),
      goalOf('wake', `end: ${WAKE.goal}`, of('ended', 0.99), 50, 'lower'),
    ],
    faults: [],
    raw: rounds,
  };
}
