import { codedFailure, Failure } from '../../failure.ts';
import { STEPS } from '../steps/steps.ts';
import { readRecipe } from './read-recipe.ts';
import type { Recipe } from './recipe.ts';
import { run } from './run.ts';

/** Short names of options that stand without a step. */
const SHORT: Readonly<Record<string, string>> = {
  w: 'width',
  h: 'height',
  q: 'quality',
  f: 'format',
};

/** Options that stand for a resize where no step is named; all others are those of the encoder. */
const RESIZE = Object.keys(STEPS.get('resize')!.fields).filter((name) => name !== 'background');

const FORMAT = /(^|[;,])f(ormat)?=/;

/** Whether steps name the format of the output. */
export const choosesFormat = (steps: string): boolean => FORMAT.test(steps);

/**
 * Writes steps as a recipe in YAML with one output.
 *
 * @param steps `w=400,fit=cover;sharpen:sigma=1;format=webp,quality=70`
 * @param format of the output: `source` for that of the source, or the one that the steps name
 * @throws Failure `invalid_recipe`
 */
function recipeOf(steps: string, format: string): string {
  const list: string[] = [];
  const encoding: string[] = [];
  for (const item of steps.split(';').filter(Boolean)) {
    const [, name, text = ''] = /^(?:([A-Za-z-]+)(?::|$))?(.*)$/s.exec(item)!;
    const options = text.split(',').filter(Boolean).map(optionOf);
    if (name !== undefined) {
      list.push(`{${name}: ${mapOf(options)}}`);
      continue;
    }
    const resize = options.filter(([option]) => RESIZE.includes(option));
    if (resize.length > 0) list.push(`{resize: ${mapOf(resize)}}`);
    const others = options.filter((option) => !resize.includes(option));
    encoding.push(...others.map(([option, value]) => `${option}: ${value}`));
  }
  const output = (...own: string[]) => `{${[...own, ...encoding].join(', ')}}`;
  const outputs = [format === 'source' ? output() : output(`format: ${format}`)];
  // AVIF would lose the frames of an animation. WebP with one frame is not made beside it.
  if (format === 'avif') {
    outputs.unshift(output('format: webp', "when: {frames: '>1'}", 'name: animation.webp'));
  }
  return `steps: [${list.join(', ')}]\noutputs: [${outputs.join(', ')}]\n`;
}

const mapOf = (options: readonly (readonly [string, string])[]) =>
  `{${options.map(([name, value]) => `${name}: ${value}`).join(', ')}}`;

/** An option with its value in YAML. */
function optionOf(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([A-Za-z]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw invalid(`steps: expected NAME=VALUE, received ${JSON.stringify(text)}`);
  }
  const isPlain = /^-?(?:\d+(?:\.\d+)?|[A-Za-z][\w-]*)$/.test(value);
  return [SHORT[name] ?? name, isPlain ? value : JSON.stringify(value)];
}

function invalid(message: string): Failure {
  return codedFailure('invalid_recipe', message, { param: 'steps' });
}

/** A recipe of the steps in a URL: 0.3 ms, and at most 5 ms. @throws Failure `invalid_recipe` */
export function readSteps(steps: string, format: string): Recipe {
  const recipe = readRecipe(recipeOf(steps, format), { origin: 'steps', set: [] });
  if (run.images!(recipe).length === 0) return recipe;
  throw invalid('steps: expected none that needs a second image');
}

/** Why steps that a configuration names cannot be used; null where they can. */
export function stepsFault(steps: string): string | null {
  try {
    readSteps(steps, 'source');
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.message.replaceAll(/^steps:(?:\d+:)? /gm, '').replaceAll('\n', '; ');
  }
}
