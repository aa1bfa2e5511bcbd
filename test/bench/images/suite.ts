import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { hasGnuTime } from '../measure.ts';
import { disturbance, race, type Standing } from '../race.ts';
import { fixed, median, range } from '../series.ts';
import {
  chosenCases,
  goalOf,
  type Log,
  type Report,
  reportOf,
  type Settings,
  type Suite,
  type Trial,
  tableOf,
} from '../trial.ts';
import { cases } from './cases.ts';
import { Corpus } from './corpus.ts';
import { sharpVersions } from './pictures.ts';
import { programVersions } from './programs.ts';
import { Scripts } from './scripts.ts';
import { type ImageCase, least, type Standings } from './trial.ts';

/** Image work from the command line, whole processes against whole processes. */
export const images: Suite = {
  summary: 'image work from the command line, against sharp programs and other tools',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: Log): Promise<Report> {
  const scripts = new Scripts(settings.scratch, log);
  const bench = { corpus: new Corpus(settings.scratch, log), scripts, quick: settings.quick };
  const standings = new Map<string, readonly Standing[]>();
  const prepared = new Map<string, ImageCase>();
  const runs = join(settings.scratch, `runs-${process.pid}`);
  try {
    for (const id of chosenCases(images.cases, settings.only)) {
      log(id);
      const one = await cases[id]!(bench);
      prepared.set(id, one);
      const { retries } = settings;
      const rounds = Math.max(1, Math.round(settings.rounds * (one.repeat ?? 1)));
      const field = one.contenders.filter(
        ({ name, role }) => role === 'limit' || takesPart(name, settings),
      );
      standings.set(id, await race(field, { rounds, retries }, join(runs, id), one.check, log));
    }
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
  const trials = [...prepared].map(
    ([id, one]) => [id, trialOf(one, standings.get(id)!, standings)] as const,
  );
  return {
    versions: { ...sharpVersions, ...scripts.versions, ...programVersions() },
    ...reportOf(new Map(trials), faultsOf(standings)),
  };
}

function takesPart(name: string, { contenders, without }: Settings): boolean {
  return !without.includes(name) && (contenders === undefined || contenders.includes(name));
}

function trialOf(
  { title, text, columns = [], goals }: ImageCase,
  field: readonly Standing[],
  standings: Standings,
): Trial {
  const limit = field.find(({ contender }) => contender.role === 'limit')!;
  const others = (disturbance(field) * 100).toFixed(0);
  const whenMeasured = (cell: (standing: Standing) => string) => (standing: Standing) =>
    standing.failure === undefined ? cell(standing) : '';
  const peak = (standing: Standing) => standing.median('peak');
  const bestRatio = (standing: Standing) => {
    const [own, base] = [least(standing, 'wall'), least(limit, 'wall')];
    return own === undefined || base === undefined ? undefined : own / base;
  };
  return {
    title,
    text: `${text} Other processes had ${others} % of the machine meanwhile.`,
    ...tableOf(field, [
      ['contender', ({ name }) => name],
      ['wall s', whenMeasured((one) => fixed(one.median('wall'), 3))],
      ['wall ÷ limit', whenMeasured((one) => fixed(median(one.over(limit, 'wall'))))],
      ['range', whenMeasured((one) => range(one.over(limit, 'wall')))],
      ['best ÷ best', whenMeasured((one) => fixed(bestRatio(one)))],
      ['CPU ÷ limit', whenMeasured((one) => fixed(median(one.over(limit, 'cpu'))))],
      [
        hasGnuTime ? 'peak MB' : 'peak MB, sampled',
        whenMeasured((one) => (peak(one) === undefined ? '' : fixed(peak(one)! / 1e6, 0))),
      ],
      ['peak ÷ limit', whenMeasured((one) => fixed(median(one.over(limit, 'peak'))))],
      ...columns.map(({ key, heading, format }) => {
        const cell = ({ observation }: Standing) =>
          observation[key] === undefined ? '' : format(observation[key]);
        return [heading, whenMeasured(cell)] as const;
      }),
      [
        'ran with',
        ({ failure, settings }) => failure?.split('\n', 1).join('').slice(0, 120) ?? settings,
      ],
    ]),
    goals: goals.map(({ goal, measured, atBest, bound }) => {
      const value = measured(standings);
      const figures = value === undefined ? [] : [value];
      return { ...goalOf(goal, figures, bound), atBest: fixed(atBest?.(standings)) };
    }),
    raw: field.map(({ contender: { name, role, settings }, rounds, observation, failure }) => {
      return { name, role, settings, rounds, observation, failure };
    }),
  };
}

/** Contenders that are not installed are marked in the table; failed ones, or a missing Oriel, fail the run. */
function faultsOf(standings: Standings): string[] {
  const all = [...standings].flatMap(([id, field]) =>
    field.flatMap(({ contender, failure }) => {
      if (failure === undefined) return [];
      if (contender.absent === undefined) return [`${id}: ${contender.name}: ${failure}`];
      return contender.role === 'peer' ? [] : [`${contender.name}: ${failure}`];
    }),
  );
  return [...new Set(all)];
}
