import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Check, Run } from '../race.ts';
import { median } from '../series.ts';
import { checkPictures } from './checks.ts';
import type { Work } from './contenders/work.ts';
import type { Inputs, Size } from './corpus.ts';
import { pixels } from './pictures.ts';
import { vipsthumbnail } from './programs.ts';
import { type Bench, find, type ImageCase, type ImageCases, type ImageGoal } from './trial.ts';

const WIDTHS = [400, 800, 1600];
const RUNS = 'three runs';
const COMMAND = 'its command';

/** Cases of recipes, of runs that have nothing to do, and of the search for duplicates. */
export const recipeCases: ImageCases = {
  'recipe-one': async (bench) => {
    const inputs = await bench.corpus.photos(bench.quick ? 4 : 24, 4);
    const one = await recipeCase(bench, inputs, {
      id: 'recipe-one',
      title: 'a recipe of one step',
      text: 'to JPEG of 800x600 by a recipe, and by its command.',
      recipe: 'steps: [{ resize: { width: 800 } }]\n',
      work: { do: 'resize', width: 800, quality: 80 },
      peer: { name: COMMAND, settings: 'resize', bound: 1.05 },
      commands: ['oriel resize --width 800 --out "$0" --quiet "$@"'],
      size: { width: 800, height: 600 },
    });
    const thumbnail = vipsthumbnail('800x', '.jpg[Q=80,optimize_coding,strip]', inputs);
    return { ...one, contenders: [...one.contenders, thumbnail] };
  },

  'recipe-three': async (bench) =>
    recipeCase(bench, await bench.corpus.photos(bench.quick ? 4 : 12), {
      id: 'recipe-three',
      title: 'three steps in one recipe',
      text: 'cropped to 16:9, resized to 1600 wide and sharpened, to JPEG.',
      recipe:
        'steps: [{ crop: { ratio: "16:9" } }, { resize: { width: 1600 } }, { sharpen: {} }]\n',
      work: {
        ...{ do: 'steps', width: 1600, quality: 80 },
        box: { left: 0, top: 375, width: 4000, height: 2250 },
      },
      peer: { name: RUNS, settings: 'crop, resize, sharpen, JPEG between', bound: 0.55 },
      commands: [
        'oriel crop --ratio 16:9 --out "$0.crop" --quiet "$@"',
        'oriel resize --width 1600 --recursive --out "$0.resize" --quiet "$0.crop"',
        'oriel sharpen --recursive --out "$0" --quiet "$0.resize"',
      ],
      size: { width: 1600, height: 900 },
    }),

  'recipe-overlay': async (bench) =>
    recipeCase(bench, await bench.corpus.photos(bench.quick ? 4 : 12), {
      id: 'recipe-overlay',
      title: 'sharpened pixels below a text',
      text: 'to 1600 wide, sharpened, with a text, to JPEG. The limit draws no text.',
      recipe:
        'steps: [{ resize: { width: 1600 } }, { sharpen: {} }, { overlay: { text: Oriel } }]\n',
      work: {
        ...{ do: 'steps', width: 1600, quality: 80 },
        box: { left: 0, top: 0, width: 4000, height: 3000 },
      },
      peer: { name: RUNS, settings: 'resize, sharpen, overlay, JPEG between', bound: 0.55 },
      commands: [
        'oriel resize --width 1600 --out "$0.resize" --quiet "$@"',
        'oriel sharpen --recursive --out "$0.sharpen" --quiet "$0.resize"',
        'oriel overlay --text Oriel --recursive --out "$0" --quiet "$0.sharpen"',
      ],
      size: { width: 1600, height: 1200 },
    }),

  'srcset-jpeg': (bench) => srcset(bench, 'jpeg'),
  'srcset-webp': (bench) => srcset(bench, 'webp'),

  incremental: async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.thumbnails(quick ? 1_000 : 10_000);
    // Outputs and cache stay from run to run: the warm-up makes what is missing.
    const out = join(inputs.folder, '..', `unchanged-${inputs.files.length}`);
    const command = `convert --format webp --incremental --cache ${out}.cache --out ${out} --quiet`;
    return {
      title: 'incremental: an unchanged run',
      text: `${inputs.files.length} small files whose outputs exist. The limit reads and hashes them.`,
      contenders: [scripts.hashLimit(inputs), scripts.oriel('--incremental', command, inputs)],
      check: checkCount(out, inputs.files.length),
      goals: [secondsGoal('incremental')],
      repeat: 0.6,
    };
  },

  ...Object.fromEntries(
    [6, 10, 12].map((threshold) => [
      `duplicates-${threshold}`,
      async ({ scripts, quick }: Bench) => {
        const hashes = quick ? 20_000 : 100_000;
        return {
          title: `duplicates-${threshold}: groups of similar hashes`,
          text: `${hashes} random hashes of 64 bits, threshold ${threshold}. The limit only makes the hashes.`,
          contenders: scripts.duplicates(hashes, threshold),
          check: async () => ({}),
          goals: [secondsGoal(`duplicates-${threshold}`)],
        };
      },
    ]),
  ),
};

/** A recipe beside commands that do the same. */
interface RecipeCase {
  readonly id: string;
  readonly title: string;
  /** What is done with the photographs, as the end of a sentence. */
  readonly text: string;
  readonly recipe: string;
  /** Work of the limit. */
  readonly work: Work;
  readonly peer: { readonly name: string; readonly settings: string; readonly bound: number };
  readonly commands: readonly string[];
  readonly size?: Size;
}

async function recipeCase(
  { corpus, scripts }: Bench,
  inputs: Inputs,
  { id, title, text, recipe, work, peer, commands, size }: RecipeCase,
): Promise<ImageCase> {
  const file = corpus.text(`${id.replace('recipe-', '')}.yaml`, recipe);
  const { name, settings, bound } = peer;
  return {
    title: `${id}: ${title}`,
    text: `${inputs.files.length} photographs of 12 megapixels ${text}`,
    contenders: [
      scripts.limit(work, inputs),
      scripts.oriel('recipe', ({ folder }) => ['run', file, '--out', folder, '--quiet'], inputs),
      scripts.shell(name, settings, inputs, commands),
    ],
    check: size ? checkPictures(inputs, () => size) : checkWidths(inputs),
    goals: [peerGoal(id, name, bound)],
  };
}

async function srcset(bench: Bench, format: 'jpeg' | 'webp'): Promise<ImageCase> {
  const { corpus, scripts, quick } = bench;
  const inputs = await corpus.photos(quick ? 4 : 12);
  const widest: Work = { do: 'widths', widths: WIDTHS.slice(-1), format, quality: 80 };
  const one = await recipeCase(bench, inputs, {
    id: `srcset-${format}`,
    title: 'three widths from one decode',
    text:
      `in ${WIDTHS.join(', ')} wide. ` +
      `"widest" is the limit's work for ${WIDTHS.at(-1)} alone, below which no way to share a decode gets.`,
    recipe: `outputs: [{ widths: [${WIDTHS.join(', ')}], format: ${format} }]\n`,
    work: { do: 'widths', widths: WIDTHS, format, quality: 80 },
    peer: { name: RUNS, settings: `resize, ${format}`, bound: 0.6 },
    commands: [
      `for width in ${WIDTHS.join(' ')}; do`,
      `oriel resize --width $width --format ${format} --name "{name}-{width}w.{ext}" --out "$0" --quiet "$@"`,
      'done',
    ],
  });
  const peer = { ...scripts.limit(widest, inputs), name: 'widest', role: 'peer' } as const;
  return { ...one, contenders: [...one.contenders, peer] };
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
  return async ({ folder }: Run, { name }) => {
    const widths = name === 'widest' ? WIDTHS.slice(-1) : WIDTHS;
    const names = readdirSync(folder);
    const expected = inputs.files.length * widths.length;
    if (names.length !== expected) {
      throw new Error(`expected ${expected} files, wrote ${names.length}`);
    }
    for (const file of names.slice(0, widths.length)) {
      const { width } = await pixels(join(folder, file));
      if (!file.includes(`-${width}w.`)) throw new Error(`${file} is ${width} wide`);
    }
    return {};
  };
}

/** Goal: Oriel takes at most `bound` of the CPU time of a peer. */
function peerGoal(id: string, name: string, bound: number): ImageGoal {
  return {
    goal: `CPU ≤ ${bound.toFixed(2)} × ${name}`,
    measured(standings) {
      const other = standings.get(id)?.find((standing) => standing.name === name);
      const own = find(standings, id, 'subject');
      return own && other && median(own.over(other, 'cpu'));
    },
    bound,
  };
}

/** Goal: Oriel takes at most two seconds. */
function secondsGoal(id: string): ImageGoal {
  return {
    goal: 'wall ≤ 2 s',
    measured: (standings) => find(standings, id, 'subject')?.median('wall'),
    bound: 2,
  };
}
