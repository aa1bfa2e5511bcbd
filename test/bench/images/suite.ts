import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { hasGnuTime } from '../measure.ts';
import { bestRatio, disturbance, median, race, ratios, type Standing, typical } from '../race.ts';
import {
  chosenCases,
  type GoalResult,
  type Report,
  type Section,
  type Settings,
  type Suite,
} from '../suite.ts';
import { cases } from './cases.ts';
import { Corpus } from './corpus.ts';
import { sharpVersions } from './pictures.ts';
import { Programs } from './programs.ts';
import { Scripts } from './scripts.ts';
import type { Bench, Standings, Trial } from './trial.ts';

/** Image work from the command line, whole processes against whole processes. */
export const images: Suite = {
  summary: 'image work from the command line, against sharp programs and other tools',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  const bench: Bench = {
    corpus: new Corpus(settings.scratch, log),
    scripts: new Scripts(settings.scratch, log),
    programs: new Programs(),
    quick: settings.quick,
  };
  const standings = new Map<string, readonly Standing[]>();
  const trials = new Map<string, Trial>();
  const runs = join(settings.scratch, `runs-${process.pid}`);
  try {
    for (const id of chosenCases(images.cases, settings.only)) {
      log(id);
      const trial = await cases[id]!(bench);
      trials.set(id, trial);
      const rounds = Math.max(1, Math.round(settings.rounds * (trial.repeat ?? 1)));
      const field = trial.contenders.filter(
        ({ name, role }) => role === 'limit' || takesPart(name, settings),
      );
      const { retries } = settings;
      standings.set(id, await race(field, { rounds, retries }, join(runs, id), trial.check, log));
    }
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
  const all = [...trials];
  return {
    versions: { ...sharpVersions, ...bench.scripts.versions, ...bench.programs.versions },
    sections: all.map(([id, trial]) => section(trial, standings.get(id)!)),
    goals: all.flatMap(([id, trial]) => goalResults(id, trial, standings)),
    faults: faults(standings),
    raw: raw(standings),
  };
}

function takesPart(name: string, { contenders, without }: Settings): boolean {
  return !without.includes(name) && (contenders === undefined || contenders.includes(name));
}

function section(trial: Trial, standings: readonly Standing[]): Section {
  const columns = trial.columns ?? [];
  const limit = standings.find(({ contender }) => contender.role === 'limit')!;
  const memory = hasGnuTime ? 'peak MB' : 'peak MB, sampled';
  const others = disturbance(standings);
  return {
    title: trial.title,
    text: `${trial.text} Other processes had ${(others * 100).toFixed(0)} % of the machine meanwhile.`,
    table: {
      headings: [
        ...[
          'contender',
          'wall s',
          'wall ÷ limit',
          'range',
          'best ÷ best',
          'CPU ÷ limit',
          memory,
          'peak ÷ limit',
        ],
        ...columns.map(({ heading }) => heading),
        'ran with',
      ],
      rows: standings.map((standing) => {
        const { contender, failure, observation } = standing;
        const walls = ratios(standing, limit, 'wall');
        const range =
          walls.length === 0 ? '' : `${fixed(Math.min(...walls))}–${fixed(Math.max(...walls))}`;
        const peak = typical(standing, 'peak');
        const figures =
          failure === undefined
            ? [
                fixed(typical(standing, 'wall'), 3),
                fixed(median(walls)),
                range,
                fixed(bestRatio(standing, limit, 'wall')),
                fixed(median(ratios(standing, limit, 'cpu'))),
                fixed(peak === undefined ? undefined : peak / 1e6, 0),
                fixed(median(ratios(standing, limit, 'peak'))),
              ]
            : Array<string>(7).fill('');
        return [
          contender.name,
          ...figures,
          ...columns.map(({ key, format }) => {
            const value = observation[key];
            return value === undefined || failure !== undefined ? '' : format(value);
          }),
          failure === undefined ? contender.settings : firstLine(failure),
        ];
      }),
    },
  };
}

function goalResults(id: string, trial: Trial, standings: Standings): GoalResult[] {
  return trial.goals.map(({ goal, measured, atBest, bound, better }) => {
    const value = measured(standings);
    // Rounded as printed, so that the table is consistent.
    const rounded = value === undefined ? undefined : Number(value.toFixed(2));
    const met =
      rounded === undefined ? undefined : better === 'lower' ? rounded <= bound : rounded >= bound;
    return { case: id, goal, measured: fixed(value), atBest: fixed(atBest?.(standings)), met };
  });
}

/** Contenders that are not installed are marked in the table; failed ones, or a missing Oriel, fail the run. */
function faults(standings: Standings): string[] {
  const all = [...standings].flatMap(([id, field]) =>
    field.flatMap(({ contender, failure }) => {
      if (failure === undefined) return [];
      if (contender.absent === undefined) return [`${id}: ${contender.name}: ${failure}`];
      return contender.role === 'peer' ? [] : [`${contender.name}: ${failure}`];
    }),
  );
  return [...new Set(all)];
}

function raw(standings: Standings): unknown {
  const entries = [...standings].map(([id, field]) => [
    id,
    field.map(({ contender, rounds, observation, failure }) => {
      const { name, role, settings } = contender;
      return {
        name,
        role,
        settings,
        rounds: rounds.map((round) => round ?? null),
        observation,
        failure,
      };
    }),
  ]);
  return Object.fromEntries(entries);
}

function fixed(value: number | undefined, digits = 2): string {
  return value === undefined ? '' : value.toFixed(digits);
}

function firstLine(text: string): string {
  return text.split('\n')[0]!.slice(0, 120);
}
