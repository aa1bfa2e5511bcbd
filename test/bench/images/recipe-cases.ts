import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, median, ratios, type Standing, typical } from '../race.ts';
import { checkPictures } from './checks.ts';
import type { Work } from './contenders/work.ts';
import type { Inputs } from './corpus.ts';
import { pixels } from './pictures.ts';
import { type Bench, find, type Goal, type Standings, type Trial } from './trial.ts';

const WIDTHS = [400, 800, 1600];
const RUNS = 'three runs';
const COMMAND = 'its command';

/** Cases of recipes, of runs that have nothing to do, and of the search for duplicates. */
export const recipeCases: Record<string, (bench: Bench) => Promise<Trial>> = {
  'recipe-one': async ({ corpus, scripts, programs, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 24, 4);
    const recipe = corpus.text('one.yaml', 'steps: [{ resize: { width: 800 } }]\n');
    const work = { do: 'resize', width: 800, quality: 80 } as const;
    return {
      title: 'recipe-one: a recipe of one step',
      text: `${inputs.files.length} photographs of 12 megapixels to JPEG of 800x600 by a recipe, and by its command.`,
      contenders: [
        scripts.limit(work, inputs),
        scripts.oriel('recipe', running(recipe), inputs),
        scripts.shell(COMMAND, 'resize', inputs, [
          'oriel resize --width 800 --out "$0" --quiet "$@"',
        ]),
        programs.vipsthumbnail('800x', '.jpg[Q=80,optimize_coding,strip]', inputs),
      ],
      check: checkPictures(inputs, () => ({ width: 800, height: 600 })),
      goals: [peerGoal('recipe-one', COMMAND, 1.05)],
    };
  },

  'recipe-three': async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 12);
    const recipe = corpus.text(
      'three.yaml',
      'steps: [{ crop: { ratio: "16:9" } }, { resize: { width: 1600 } }, { sharpen: {} }]\n',
    );
    const box = { left: 0, top: 375, width: 4000, height: 2250 };
    const work: Work = { do: 'steps', box, width: 1600, quality: 80 };
    return {
      title: 'recipe-three: three steps in one recipe',
      text: `${inputs.files.length} photographs of 12 megapixels cropped to 16:9, resized to 1600 wide and sharpened, to JPEG.`,
      contenders: [
        scripts.limit(work, inputs),
        scripts.oriel('recipe', running(recipe), inputs),
        scripts.shell(RUNS, 'crop, resize, sharpen, JPEG between', inputs, [
          'oriel crop --ratio 16:9 --out "$0.crop" --quiet "$@"',
          'oriel resize --width 1600 --recursive --out "$0.resize" --quiet "$0.crop"',
          'oriel sharpen --recursive --out "$0" --quiet "$0.resize"',
        ]),
      ],
      check: checkPictures(inputs, () => ({ width: 1600, height: 900 })),
      goals: [peerGoal('recipe-three', RUNS, 0.55)],
    };
  },

  'recipe-overlay': async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 12);
    const recipe = corpus.text(
      'overlay.yaml',
      'steps: [{ resize: { width: 1600 } }, { sharpen: {} }, { overlay: { text: Oriel } }]\n',
    );
    const box = { left: 0, top: 0, width: 4000, height: 3000 };
    const work: Work = { do: 'steps', box, width: 1600, quality: 80 };
    return {
      title: 'recipe-overlay: sharpened pixels below a text',
      text: `${inputs.files.length} photographs of 12 megapixels to 1600 wide, sharpened, with a text, to JPEG. The limit draws no text.`,
      contenders: [
        scripts.limit(work, inputs),
        scripts.oriel('recipe', running(recipe), inputs),
        scripts.shell(RUNS, 'resize, sharpen, overlay, JPEG between', inputs, [
          'oriel resize --width 1600 --out "$0.resize" --quiet "$@"',
          'oriel sharpen --recursive --out "$0.sharpen" --quiet "$0.resize"',
          'oriel overlay --text Oriel --recursive --out "$0" --quiet "$0.sharpen"',
        ]),
      ],
      check: checkPictures(inputs, () => ({ width: 1600, height: 1200 })),
      goals: [peerGoal('recipe-overlay', RUNS, 0.55)],
    };
  },

  'srcset-jpeg': (bench) => srcset(bench, 'jpeg'),
  'srcset-webp': (bench) => srcset(bench, 'webp'),

  incremental: async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.thumbnails(quick ? 1_000 : 10_000);
    // Outputs and cache stay from run to run: the warm-up makes what is missing.
    const out = join(inputs.folder, '..', `unchanged-${inputs.files.length}`);
    const args = ['convert', '--format', 'webp', '--incremental', '--cache', `${out}.cache`];
    return {
      title: 'incremental: an unchanged run',
      text: `${inputs.files.length} small files whose outputs exist. The limit reads and hashes them.`,
      contenders: [
        scripts.hashLimit(inputs),
        scripts.oriel('--incremental', () => [...args, '--out', out, '--quiet'], inputs),
      ],
      check: checkCount(out, inputs.files.length),
      goals: [secondsGoal('incremental', 2)],
      repeat: 0.6,
    };
  },

  'duplicates-6': (bench) => duplicates(bench, 6),
  'duplicates-10': (bench) => duplicates(bench, 10),
  'duplicates-12': (bench) => duplicates(bench, 12),
};

async function srcset({ corpus, scripts, quick }: Bench, format: 'jpeg' | 'webp'): Promise<Trial> {
  const id = `srcset-${format}`;
  const inputs = await corpus.photos(quick ? 4 : 12);
  const recipe = corpus.text(
    `${id}.yaml`,
    `outputs: [{ widths: [${WIDTHS.join(', ')}], format: ${format} }]\n`,
  );
  const work: Work = { do: 'widths', widths: WIDTHS, format, quality: 80 };
  const widest: Work = { do: 'widths', widths: [WIDTHS.at(-1)!], format, quality: 80 };
  return {
    title: `${id}: three widths from one decode`,
    text:
      `${inputs.files.length} photographs of 12 megapixels in ${WIDTHS.join(', ')} wide. ` +
      `"widest" is the limit's work for ${WIDTHS.at(-1)} alone, below which no way to share a decode gets.`,
    contenders: [
      scripts.limit(work, inputs),
      scripts.oriel('recipe', running(recipe), inputs),
      scripts.shell(RUNS, `resize, ${format}`, inputs, [
        `for width in ${WIDTHS.join(' ')}; do`,
        `oriel resize --width $width --format ${format} --name "{name}-{width}w.{ext}" --out "$0" --quiet "$@"`,
        'done',
      ]),
      { ...scripts.limit(widest, inputs), name: 'widest', role: 'peer' },
    ],
    check: checkWidths(inputs),
    goals: [peerGoal(id, RUNS, 0.6)],
  };
}

async function duplicates({ scripts, quick }: Bench, threshold: number): Promise<Trial> {
  const hashes = quick ? 20_000 : 100_000;
  return {
    title: `duplicates-${threshold}: groups of similar hashes`,
    text: `${hashes} random hashes of 64 bits, threshold ${threshold}. The limit only makes the hashes.`,
    contenders: [
      { ...scripts.duplicates(hashes, null), role: 'limit' },
      { ...scripts.duplicates(hashes, threshold), role: 'subject' },
    ],
    check: async () => ({}),
    goals: [secondsGoal(`duplicates-${threshold}`, 2)],
  };
}

function running(recipe: string) {
  return ({ folder }: { folder: string }) => ['run', recipe, '--out', folder, '--quiet'];
}

function checkCount(folder: string, count: number): Check {
  return async (_run, { role }) => {
    const written = role === 'subject' ? readdirSync(folder).length : count;
    if (written !== count) throw new Error(`expected ${count} files, wrote ${written}`);
    return {};
  };
}

/** Checks that there is a file of each width for each input, or of the widest. */
function checkWidths(inputs: Inputs): Check {
  return async ({ folder }, { name }) => {
    const widths = name === 'widest' ? WIDTHS.slice(-1) : WIDTHS;
    const names = readdirSync(folder);
    if (names.length !== inputs.files.length * widths.length) {
      throw new Error(
        `expected ${inputs.files.length * widths.length} files, wrote ${names.length}`,
      );
    }
    for (const file of names.slice(0, widths.length)) {
      const { width } = await pixels(join(folder, file));
      if (!file.includes(`-${width}w.`)) throw new Error(`${file} is ${width} wide`);
    }
    return {};
  };
}

function peer(standings: Standings, id: string, name: string): Standing | undefined {
  return standings.get(id)?.find(({ contender }) => contender.name === name);
}

/** Goal: Oriel takes at most `bound` of the CPU time of a peer. */
function peerGoal(id: string, name: string, bound: number): Goal {
  return {
    goal: `CPU ≤ ${bound.toFixed(2)} × ${name}`,
    measured(standings) {
      const subject = find(standings, id, 'subject');
      const other = peer(standings, id, name);
      return subject && other && median(ratios(subject, other, 'cpu'));
    },
    bound,
    better: 'lower',
  };
}

/** Goal: Oriel takes at most so many seconds. */
function secondsGoal(id: string, bound: number): Goal {
  return {
    goal: `wall ≤ ${bound} s`,
    measured(standings) {
      const subject = find(standings, id, 'subject');
      return subject && typical(subject, 'wall');
    },
    bound,
    better: 'lower',
  };
}
