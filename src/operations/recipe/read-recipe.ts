import { extname } from 'node:path';
import {
  coerceVariables,
  type Document,
  faultLines,
  type LineFault,
  readDocument,
} from '../../config/yaml/document.ts';
import { codedFailure, type Failure } from '../../failure.ts';
import { formatOfExtension } from '../../images/formats.ts';
import { checkAll, type Fault, formatValue, unknownName } from '../../schema/faults.ts';
import { invalid } from '../../schema/invalid.ts';
import { isObject } from '../../schema/untrusted.ts';
import { PRESETS, type Recipe, type RecipeOutput, type RecipeStep } from './recipe.ts';
import { recipeSchema, type WrittenRecipe, type WrittenStep } from './schema.ts';

/** Characters of a recipe. */
const MAX_RECIPE_LENGTH = 32_000;
/** Tokens of a recipe, of which a line has about six. The event loop waits while they are parsed. */
const MAX_TOKENS = 4000;
/** Outputs for one image. */
const MAX_OUTPUTS = 100;
/** Reported faults. */
const MAX_FAULTS = 20;
const NO_RECIPE = `expected a map of steps and outputs, or one of ${PRESETS.join(', ')}`;

export interface ReadOptions {
  /** Name of the recipe in messages. */
  readonly origin: string;
  /** Variables as `name=value`. */
  readonly set: readonly string[];
}

/**
 * Parses and checks a recipe.
 *
 * @throws Failure with code `invalid_recipe`, whose message lists the faults with their lines
 */
export function readRecipe(source: string, { origin, set }: ReadOptions): Recipe {
  if (source.length > MAX_RECIPE_LENGTH) {
    throw invalidRecipe(`${origin}: larger than ${MAX_RECIPE_LENGTH / 1000} KB`);
  }
  const document = readDocument(source, (value) => variablesOf(value, set), MAX_TOKENS);
  const value = withShorthands(document.value ?? {});
  if (!isObject(value)) fail(origin, [{ path: [], message: NO_RECIPE }], document);
  coerceVariables(recipeSchema, value, document);
  const checked = checkAll(recipeSchema, value, (received, path) =>
    received === null ? 'nothing' : formatValue(received, path),
  );
  const own = new Set(document.faults.map(({ path }) => JSON.stringify(path)));
  const faults: Fault[] = [
    ...document.faults.map(undeclared),
    ...('faults' in checked ? checked.faults : []).filter(
      ({ path }) => !own.has(JSON.stringify(path)),
    ),
  ];
  if (faults.length > 0 || 'faults' in checked) fail(origin, faults, document);
  const recipe = compile(checked.output);
  const names = nameFaults(recipe);
  if (names.length > 0) fail(origin, names, document);
  return recipe;
}

/** The failure of a recipe with faults. */
export function invalidRecipe(message: string): Failure {
  return codedFailure('invalid_recipe', message, { param: 'recipe' });
}

function fail(origin: string, faults: readonly Fault[], document: Document): never {
  throw invalidRecipe(faultLines(origin, faults, document, MAX_FAULTS).join('\n'));
}

/** The recipe's variables with those that are set. @throws Failure for an unknown one */
function variablesOf(recipe: unknown, set: readonly string[]): Record<string, string> {
  const vars = isObject(recipe) && isObject(recipe['vars']) ? recipe['vars'] : {};
  const values = Object.fromEntries(
    Object.entries(vars).map(([name, value]) => [name, isObject(value) ? '' : String(value)]),
  );
  for (const assignment of set) {
    const [, name, value] = /^([^=]*)=(.*)$/s.exec(assignment) ?? [];
    const refuse = (message: string) => invalid('set', message);
    if (name === undefined)
      throw refuse(`expected NAME=VALUE, received ${formatValue(assignment, [])}`);
    if (!Object.hasOwn(values, name)) {
      const known = Object.keys(values);
      throw refuse(
        known.length === 0 ? 'the recipe has no variables' : `${name}: ${unknownName(name, known)}`,
      );
    }
    values[name] = value!;
  }
  return values;
}

/** The document calls them environment variables. */
function undeclared(fault: LineFault): LineFault {
  const { variable } = fault;
  return variable === undefined
    ? fault
    : { ...fault, message: `the variable ${variable} is not declared in vars` };
}

/** Writes `- greyscale` and `- greyscale:` as `- greyscale: {}`, and adds the one output that is the default. */
function withShorthands(value: unknown): unknown {
  if (!isObject(value)) return value;
  const inSteps = (owner: Record<string, unknown>) => {
    const { steps } = owner;
    if (!Array.isArray(steps)) return owner;
    const written = steps.map((step) => {
      if (typeof step === 'string') return { [step]: {} };
      if (!isObject(step)) return step;
      return Object.fromEntries(
        Object.entries(step).map(([name, options]) => [name, options ?? {}]),
      );
    });
    return { ...owner, steps: written };
  };
  const { outputs = [{}] } = value;
  const inOutput = (output: unknown) => (isObject(output) ? inSteps(output) : output);
  return { ...inSteps(value), outputs: Array.isArray(outputs) ? outputs.map(inOutput) : outputs };
}

function compileStep({ when, ...named }: WrittenStep): RecipeStep {
  const [[name, options]] = Object.entries(named) as [[string, object | null]];
  return { name, options: options ?? {}, when };
}

function compile({ description, steps = [], outputs = [] }: WrittenRecipe): Recipe {
  return {
    description,
    steps: steps.map(compileStep),
    outputs: outputs.map((output): RecipeOutput => {
      const { name, when, steps: own = [], widths = [], format, formats, ...encoding } = output;
      // As --out and --name, the name of an output sets its format.
      const named = formatOfExtension(extname(name ?? '').slice(1)) ?? 'svg';
      const chosen = formats ?? [format ?? named].filter((one) => one !== 'svg');
      return {
        name: name ?? (widths.length > 0 ? '{name}-{width}w.{ext}' : '{name}.{ext}'),
        when,
        steps: own.map(compileStep),
        widths: [...new Set(widths)],
        formats: [...new Set(chosen)],
        encoding,
      };
    }),
  };
}

/** Faults of outputs that would have the same names, and of too many outputs. */
function nameFaults({ outputs }: Recipe): Fault[] {
  const faults: Fault[] = [];
  const count = outputs.reduce(
    (sum, { widths, formats }) => sum + Math.max(1, widths.length) * Math.max(1, formats.length),
    0,
  );
  if (count > MAX_OUTPUTS) {
    const message = `expected at most ${MAX_OUTPUTS} outputs for an image, received ${count}`;
    faults.push({ path: ['outputs'], message });
  }
  const seen = new Map<string, number>();
  for (const [index, { name, when, widths, formats }] of outputs.entries()) {
    // Conditions may exclude each other.
    if (when !== undefined) continue;
    for (const format of formats.length > 0 ? formats : ['']) {
      for (const width of widths.length > 0 ? widths : ['']) {
        const key = `${name}\0${format}\0${width}`;
        const other = seen.get(key);
        if (other !== undefined && other !== index) {
          const message = `expected a name of its own, received that of outputs[${other}]: ${name}`;
          faults.push({ path: ['outputs', index], message });
          return faults;
        }
        seen.set(key, index);
      }
    }
  }
  return faults;
}
