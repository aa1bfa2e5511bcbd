import { estimateDecoding } from '../../images/decoding/estimate.ts';
import { type Facts, factsOf, type Header, readHeader } from '../../images/decoding/header.ts';
import { openPicture, type Selection, selectFrames } from '../../images/decoding/picture.ts';
import { checkOutputSize, estimateOutput, sameFormat } from '../../images/encoding/encoding.ts';
import type { EncodingOptions } from '../../images/encoding/options.ts';
import { fileFailure } from '../../images/file-error.ts';
import type { Estimate, ImageInput } from '../../images/input.ts';
import {
  distinctWarnings,
  type EncodingResult,
  type OutputImage,
  type Search,
  type Warning,
} from '../../images/output.ts';
import { openGainMap } from '../definition/gain-map-progress.ts';
import type { OperationResult } from '../definition/operation.ts';
import { beginProgress, type Progress, shareProgress } from '../definition/progress.ts';
import { applyStep, encodeResult, planSteps } from '../definition/run-steps.ts';
import { loadStep } from '../definition/step.ts';
import { STEPS } from '../steps/steps.ts';
import type { Recipe, RecipeOutput, RecipeStep } from './recipe.ts';
import { type Branch, type Engine, type Leaf, traverse } from './traverse.ts';

/** Outputs that share decoded frames. */
interface Group extends Selection {
  readonly warnings: Warning[];
  readonly branches: Branch[];
}

/** An output before it is made. */
interface PlannedOutput {
  readonly leaf: Leaf;
  readonly facts: Facts;
  readonly steps: readonly string[];
}

interface PlanState {
  readonly facts: Facts;
  /** Bytes that steps and shared pixels hold. */
  readonly held: number;
  readonly steps: readonly string[];
}

function keepsColours({ metadata }: EncodingOptions): boolean {
  return metadata === 'icc' || metadata === 'all';
}

/** The recipe with what its steps need beside their options. */
async function loadRecipe(input: ImageInput, header: Header, recipe: Recipe) {
  const profiled = recipe.outputs.some(({ encoding }) => keepsColours(encoding));
  const warnings: Warning[] = [];
  const source = { input, header, profiled, warnings };
  const load = async (steps: readonly RecipeStep[]) => {
    const loaded: RecipeStep[] = [];
    for (const one of steps) {
      const { options, warnings: own } = await loadStep(source, {
        step: STEPS.get(one.name)!,
        options: one.options,
      });
      loaded.push({ ...one, options });
      warnings.push(...own);
    }
    return loaded;
  };
  const steps = await load(recipe.steps);
  const outputs: RecipeOutput[] = [];
  for (const output of recipe.outputs) {
    outputs.push({ ...output, steps: await load(output.steps) });
  }
  return { recipe: { ...recipe, steps, outputs }, warnings };
}

/** Runs a recipe over one image: one decode for all outputs with the same frames, one encode for each. */
export async function runRecipe(input: ImageInput, given: Recipe): Promise<OperationResult> {
  const header = await readHeader(input);
  const { recipe, warnings: loading } = await loadRecipe(input, header, given);
  const groups = await groupsOf(input, header, recipe);
  const planned: PlannedOutput[] = [];
  const works: Estimate[] = [];
  const warnings: Warning[] = [...header.warnings, ...loading];
  const plans = { planned, warnings };
  for (const group of groups) works.push(await planGroup(input, header, recipe, group, plans));
  checkTotal(input, planned);
  if (recipe.planOnly) return { data: { outputs: ordered(planned).map(described) }, planned: true };
  input.admit({
    milliseconds: works.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
    bytes: Math.max(0, ...works.map(({ bytes }) => bytes)),
  });
  const made: { readonly leaf: Leaf; readonly image: OutputImage; readonly search?: Search }[] = [];
  for (const group of groups) {
    await runGroup(input, header, recipe, group, (leaf, { image, search, warnings: own }) => {
      made.push({ leaf, image, ...(search && { search }) });
      warnings.push(...own);
    });
    warnings.push(...group.warnings);
  }
  if (made.length === 0) {
    warnings.push({ code: 'no_output', message: 'the conditions of all outputs exclude it' });
  }
  const targets = ordered(made).flatMap(({ leaf: { name }, search }) =>
    search ? [{ name, ...search }] : [],
  );
  const images = ordered(made).map(({ leaf, image }, index) => ({
    ...image,
    output: { index, nameTemplate: leaf.name },
  }));
  return {
    images,
    ...(targets.length > 0 && { data: { targets } }),
    warnings: distinctWarnings(warnings),
  };
}

function ordered<Item extends { readonly leaf: Leaf }>(items: readonly Item[]): Item[] {
  return items.toSorted(({ leaf: { position: one } }, { leaf: { position: other } }) => {
    const at = one.findIndex((place, index) => place !== other[index]);
    return at < 0 ? 0 : one[at]! - other[at]!;
  });
}

function described({ leaf, facts, steps }: PlannedOutput) {
  const { width, height } = facts;
  return { name: leaf.name, format: leaf.to, width, height, steps };
}

/** Refuses outputs that would have more pixels together than one may have. */
function checkTotal({ limits }: ImageInput, planned: readonly PlannedOutput[]): void {
  const pixels = planned.reduce(
    (sum, { facts: { width, height, frames } }) => sum + width * height * frames,
    0,
  );
  if (pixels <= limits.pixels * 4) return;
  const megapixels = (count: number) => Math.round(count / 1e6);
  throw fileFailure(
    'output_too_large',
    `${planned.length} outputs would have ${megapixels(pixels)} megapixels together, more than ${megapixels(limits.pixels * 4)}`,
  );
}

async function groupsOf(input: ImageInput, header: Header, recipe: Recipe): Promise<Group[]> {
  const groups = new Map<string, Group>();
  for (const [index, output] of recipe.outputs.entries()) {
    const formats = output.formats.length > 0 ? output.formats : [sameFormat(header)];
    for (const [position, to] of formats.entries()) {
      const selection = await selectFrames(input, header, to, output.encoding);
      const { frames, profiled } = selection;
      // Raw pixels have no profile and no metadata: these outputs are decoded by themselves.
      const key = profiled ? `${index} ${position}` : `${frames} frames`;
      const group = groups.get(key) ?? { frames, profiled, warnings: [], branches: [] };
      groups.set(key, group);
      group.warnings.push(...selection.warnings);
      const last = group.branches.at(-1);
      if (last?.index === index) last.formats.push([position, to]);
      else group.branches.push({ index, output, formats: [[position, to]] });
    }
  }
  return [...groups.values()];
}

/** Plans the outputs of a group, adds them and their warnings to lists, and estimates their work. */
async function planGroup(
  input: ImageInput,
  header: Header,
  recipe: Recipe,
  { frames, branches }: Group,
  lists: { readonly planned: PlannedOutput[]; readonly warnings: Warning[] },
): Promise<Estimate> {
  const facts = factsOf(header, frames);
  const pixels = facts.width * facts.height * frames;
  const decoding = estimateDecoding(header, frames);
  let { milliseconds, bytes } = decoding;
  const engine: Engine<PlanState> = {
    factsOf: (state) => state.facts,
    async apply(state, chosen, context) {
      const plan = planSteps(input, state.facts, [chosen], context);
      milliseconds += plan.milliseconds;
      lists.warnings.push(...plan.warnings);
      const { width, height } = plan.after;
      const text = `${chosen.step.name} to ${width}x${height}`;
      const held = state.held + plan.held + bytesOf(plan.after);
      return { facts: plan.after, held, steps: [...state.steps, text] };
    },
    async share(state, size) {
      const facts = { ...state.facts, ...size };
      const shared = { ...state, facts, held: state.held + bytesOf(facts) };
      return () => shared;
    },
    async finish(state, leaf) {
      const { to, encoding } = leaf;
      checkOutputSize(input, to, state.facts);
      const held = state.held / pixels;
      const work = estimateOutput(input, header, { to, facts: state.facts, held }, encoding);
      milliseconds += work.milliseconds - decoding.milliseconds;
      bytes = Math.max(bytes, work.bytes);
      lists.planned.push({ leaf, facts: state.facts, steps: state.steps });
    },
  };
  await traverse(engine, header, { facts, held: 0, steps: [] }, recipe.steps, branches);
  return { milliseconds, bytes };
}

/** Bytes of raw pixels. */
function bytesOf({ width, height, frames, deep }: Facts): number {
  return width * height * frames * (deep ? 8 : 4);
}

async function runGroup(
  input: ImageInput,
  header: Header,
  recipe: Recipe,
  group: Group,
  add: (leaf: Leaf, encoded: EncodingResult) => void,
): Promise<void> {
  const source = { input, header, profiled: group.profiled, warnings: group.warnings };
  const engine: Engine<Progress> = {
    factsOf: (progress) => progress.facts,
    apply: (progress, step, context) => applyStep(source, progress, step, context),
    share: (progress, size) => shareProgress(input, progress, size),
    async finish(progress, leaf) {
      checkOutputSize(input, leaf.to, progress.facts);
      add(leaf, await encodeResult(source, progress, leaf.to, leaf.encoding));
    },
  };
  const image = await openPicture(input, header, group);
  const facts = factsOf(header, group.frames);
  const begin = beginProgress(image, facts, await openGainMap(source, facts));
  await traverse(engine, header, begin, recipe.steps, group.branches);
}
