import type { Facts, Header, Size } from '../../images/decoding/header.ts';
import type { EncodingOptions } from '../../images/encoding/options.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import { parseFields } from '../../schema/fields.ts';
import { type ChosenStep, type StepContext, stepSchema } from '../definition/step.ts';
import { resize } from '../steps/resize.ts';
import { STEPS } from '../steps/steps.ts';
import { applies } from './conditions.ts';
import type { RecipeOutput, RecipeStep } from './recipe.ts';

/** One output of an image. */
export interface Leaf {
  readonly to: OutputFormat;
  readonly name: string;
  readonly encoding: EncodingOptions;
  /** Positions in the recipe's lists: output, width, format. */
  readonly position: readonly [output: number, width: number, format: number];
}

/** An output of a recipe, with the formats that are encoded from the same decoded frames. */
export interface Branch {
  readonly index: number;
  readonly output: RecipeOutput;
  readonly formats: (readonly [position: number, to: OutputFormat])[];
}

/** Plans or makes the outputs of a recipe. */
export interface Engine<State> {
  factsOf(state: State): Facts;
  apply(state: State, step: ChosenStep, context: StepContext): Promise<State>;
  /** Lets several readers continue from one state, at another size where one is given. */
  share(state: State, size: Size | undefined): Promise<() => State>;
  finish(state: State, leaf: Leaf): Promise<void>;
}

/**
 * Visits the outputs as a tree: the steps of the recipe, of each output, its widths, its formats. What
 * several outputs have in common is done once.
 *
 * @param steps those of the recipe, before the branches
 */
export async function traverse<State>(
  engine: Engine<State>,
  header: Header,
  begin: State,
  steps: readonly RecipeStep[],
  branches: readonly Branch[],
): Promise<void> {
  const trunk = await applyAll(engine, header, begin, steps, contextOf(branches));
  const facts = engine.factsOf(trunk);
  const wanted = branches.filter(({ output }) => applies(output.when, header, facts));
  const isOpened = trunk === begin;
  const reduced = isOpened ? reducedSize(header, facts, widthOf(wanted, facts)) : undefined;
  const take = await shareBetween(engine, trunk, wanted.length, reduced);
  for (const branch of wanted) {
    const context = contextOf([branch]);
    const { steps: own, widths } = branch.output;
    const begun = take();
    const state = await applyAll(engine, header, begun, own, context);
    // Those of the whole image, although a reduced one may be shared: heights are rounded once.
    const from = state === begun ? facts : engine.factsOf(state);
    const levels = levelsOf(widths, from);
    const width = Math.max(...levels.map(({ size }) => size?.width ?? from.width));
    const smaller = state === begin ? reducedSize(header, facts, width) : undefined;
    await visitLevels(engine, branch, state, levels, context, smaller);
  }
}

/** The largest width of the outputs, where all of them begin with a resize to it. */
function widthOf(branches: readonly Branch[], { width }: Size): number {
  const widths = branches.flatMap(({ output }) =>
    output.steps.length > 0 || output.widths.length === 0 ? [width] : output.widths,
  );
  return Math.min(width, Math.max(...widths));
}

/** libjpeg decodes to a half, a quarter or an eighth in less time than the whole. */
const MAX_REDUCTION = 8;

/** The size at which a JPEG is decoded for several outputs, the largest of which has this width. */
function reducedSize({ format }: Header, from: Size, width: number): Size | undefined {
  if (format !== 'jpeg') return undefined;
  let factor = 1;
  while (factor < MAX_REDUCTION && from.width / (factor * 2) >= width) factor *= 2;
  if (factor === 1) return undefined;
  return {
    width: Math.floor(from.width / factor),
    height: Math.max(1, Math.floor(from.height / factor)),
  };
}

function contextOf(branches: readonly Branch[]): StepContext {
  return { alpha: branches.some(({ formats }) => formats.some(([, to]) => FORMATS[to].alpha)) };
}

async function applyAll<State>(
  engine: Engine<State>,
  header: Header,
  begin: State,
  steps: readonly RecipeStep[],
  context: StepContext,
): Promise<State> {
  let state = begin;
  for (const { name, options, when } of steps) {
    if (!applies(when, header, engine.factsOf(state))) continue;
    state = await engine.apply(state, { step: STEPS.get(name)!, options }, context);
  }
  return state;
}

async function shareBetween<State>(
  engine: Engine<State>,
  state: State,
  readers: number,
  size?: Size,
): Promise<() => State> {
  return readers > 1 ? engine.share(state, size) : () => state;
}

/** A width, with those that are made from its pixels. */
interface Level {
  /** Position in the recipe's list. */
  readonly position: number;
  /** Undefined where nothing is resized. */
  readonly size: Size | undefined;
  readonly below: Level[];
}

/** From this factor on, a smaller width looks the same whether it is made from a larger one or not. */
const PYRAMID_FACTOR = 2;

/**
 * The widths as a tree. A width is made from the smallest other one that is at least twice as wide, which
 * is less work than from the whole image. Widths beyond the image become one output of its own width.
 */
function levelsOf(widths: readonly number[], facts: Facts): Level[] {
  if (widths.length === 0) return [{ position: 0, size: undefined, below: [] }];
  const effective = new Map<number, number>();
  for (const [position, given] of widths.entries()) {
    const width = Math.min(given, facts.width);
    if (!effective.has(width)) effective.set(width, position);
  }
  const roots: Level[] = [];
  const larger: { width: number; level: Level }[] = [];
  for (const [width, position] of [...effective].sort(([a], [b]) => b - a)) {
    const height = Math.max(1, Math.round((facts.height * width) / facts.width));
    const size = width === facts.width ? undefined : { width, height };
    const level: Level = { position, size, below: [] };
    const parent = larger.findLast((other) => other.width >= width * PYRAMID_FACTOR);
    (parent ? parent.level.below : roots).push(level);
    larger.push({ width, level });
  }
  return roots;
}

const resizeSchema = stepSchema(resize.step);

async function visitLevels<State>(
  engine: Engine<State>,
  branch: Branch,
  state: State,
  levels: readonly Level[],
  context: StepContext,
  shared?: Size,
): Promise<void> {
  const take = await shareBetween(engine, state, levels.length, shared);
  for (const { position, size, below } of levels) {
    const options = size && (parseFields(resizeSchema, { ...size, fit: 'fill' }) as object);
    const resized = options
      ? await engine.apply(take(), { step: resize.step, options }, context)
      : take();
    const { index, output, formats } = branch;
    const takeLevel = await shareBetween(
      engine,
      resized,
      formats.length + (below.length > 0 ? 1 : 0),
    );
    for (const [formatPosition, to] of formats) {
      await engine.finish(takeLevel(), {
        to,
        name: output.name,
        encoding: output.encoding,
        position: [index, position, formatPosition],
      });
    }
    if (below.length > 0) await visitLevels(engine, branch, takeLevel(), below, context);
  }
}
