import { fixed, quantile, Series, spread } from '../series.ts';
import type { StoreFigures } from '../store/contenders/work.ts';
import { figuresOf, goalOf, tableOf } from '../trial.ts';
import type { QueueFigures } from './contenders/queue.ts';
import { type Case, emptyFolder, engineOf } from './field.ts';

const CREATE_GOAL = 'rate ≥ 0.60 × the raw gathered transaction';

export const create: Case = {
  title: 'create: durable creations, 64 in flight',
  goal: CREATE_GOAL,
  async work(bench, server) {
    const { settings, log } = bench;
    const count = settings.quick ? 5000 : 50_000;
    const own = new Series<'rate'>('oriel');
    const limit = new Series<'rate'>('limit');
    for (let round = 0; round < settings.rounds; round += 1) {
      const rateOf = async (script: string, ...args: (string | number)[]) => {
        const { seconds } = await figuresOf<StoreFigures>(bench, script, [...args, count]);
        return { rate: count / seconds };
      };
      const { driver } = engineOf(server, `create_${round}`);
      limit.add(await rateOf('nodes/contenders/raw', server.url));
      const args = [driver, 'create', emptyFolder(bench, 'node')];
      own.add(await rateOf('store/contenders/store', ...args));
      const [least, most] = [limit, own].map((one) => fixed(one.values('rate').at(-1), 0));
      log(`  limit ${least}, oriel ${most} a second`);
    }
    const ratios = own.over(limit, 'rate');
    return {
      text:
        `${count} tasks of one account with their reservations, fsync and synchronous_commit on; the limit gathers, ` +
        'locks, reads and writes the same rows without rules.',
      ...tableOf(
        [limit, own],
        [
          ['contender', ({ name }) => name],
          ['per second', (series) => fixed(series.median('rate'), 0)],
          ['÷ limit', (series) => (series === own ? spread(ratios) : '')],
        ],
      ),
      goals: [goalOf(CREATE_GOAL, ratios, 0.6)],
      raw: { limit: limit.values('rate'), own: own.values('rate') },
    };
  },
};

export const claims: Case = {
  title: 'claims: tasks claimed and ended',
  goal: '',
  async work(bench, server) {
    const { settings, log } = bench;
    const count = settings.quick ? 2000 : 20_000;
    const rates: number[] = [];
    for (let round = 0; round < settings.rounds; round += 1) {
      const { driver } = engineOf(server, `claims_${round}`);
      const args = [driver, 'claims', emptyFolder(bench, 'node'), count];
      const { seconds } = await figuresOf<QueueFigures>(bench, 'nodes/contenders/queue', args);
      rates.push(count / seconds);
      log(`  ${fixed(rates.at(-1), 0)} a second`);
    }
    return {
      text: `${count} tasks of 20 accounts, by four claims at once of 16 tasks each, with charge and result.`,
      headings: ['contender', 'per second'],
      rows: [['oriel', spread(rates, 0)]],
      raw: { count, rates },
    };
  },
};

const WAKE_GOAL = 'milliseconds, p99 ≤ 50';
const HINTS = [
  {
    figure: 'created',
    goal: 'creation',
    label: 'from the creation until the other node knows, commit included',
  },
  { figure: 'ended', goal: 'end', label: 'from the end until its creator knows, commit included' },
] as const;

export const wake: Case = {
  title: 'wake: hints between two nodes',
  goal: WAKE_GOAL,
  async work(bench, server) {
    const { settings, log } = bench;
    const count = settings.quick ? 200 : 1000;
    const rounds: QueueFigures[] = [];
    for (let round = 0; round < settings.rounds; round += 1) {
      const { driver } = engineOf(server, `wake_${round}`);
      const args = [driver, 'wake', emptyFolder(bench, `node-${round}`), count];
      rounds.push(await figuresOf<QueueFigures>(bench, 'nodes/contenders/queue', args));
      log(`  ${fixed(quantile(rounds.at(-1)!.created, 0.99))} ms, 99 of 100`);
    }
    const quantiles = (figure: 'created' | 'ended', share: number) =>
      rounds.map((round) => quantile(round[figure], share)!);
    return {
      text: `${count} tasks, one after the other, created by one node and ended by another.`,
      ...tableOf(HINTS, [
        ['milliseconds', ({ label }) => label],
        ['median', ({ figure }) => spread(quantiles(figure, 0.5))],
        ['99 of 100', ({ figure }) => spread(quantiles(figure, 0.99))],
      ]),
      goals: HINTS.map(({ figure, goal }) =>
        goalOf(`${goal}: ${WAKE_GOAL}`, quantiles(figure, 0.99), 50),
      ),
      raw: rounds,
    };
  },
};
